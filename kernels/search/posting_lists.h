// Lists of documents of words, as full text indices store them: encoded and decoded.
#pragma once

#include <vector>

#include "system/bytes.h"

namespace lance {

// Lists of variable-length items, as Arrow has them: the items of list i are list_ends[i] to list_ends[i + 1].
struct EncodedLists {
    std::vector<uint8_t> bytes;
    std::vector<int64_t> item_ends{0};
    std::vector<int32_t> list_ends{0};

    void end_item() { item_ends.push_back(static_cast<int64_t>(bytes.size())); }
    void end_list() { list_ends.push_back(static_cast<int32_t>(item_ends.size() - 1)); }
};

// Entry of each word in the file of lists.
struct EncodedPostings {
    EncodedLists blocks;
    EncodedLists impacts;
    std::vector<float> max_scores;
    std::vector<uint32_t> counts;
    // with positions: bytes of each word, and the start of each of its blocks
    std::vector<uint8_t> positions;
    std::vector<int64_t> position_ends{0};
    std::vector<uint32_t> position_starts;
    std::vector<int32_t> position_list_ends{0};
};

// The documents of a partition. Not for several threads at once.
class PostingLists {
  public:
    // has_positions: positions of words are stored; all are 0 if `has_no_order`.
    PostingLists(bool has_positions, bool has_no_order) : has_positions_(has_positions), has_no_order_(has_no_order) {}

    // Adds texts: the words of text i are ends[i - 1] to ends[i] of `tokens`, u32, with `ends` of i64. words: u32, the
    // word of each number of `tokens`, or 0xffffffff for an excluded one, which still has a position. A text without
    // words is not a document; byte i of is_document is 1 for a document.
    void add(Bytes tokens, Bytes ends, int64_t num_texts, Bytes words, MutableBytes is_document);

    int64_t num_documents() const { return static_cast<int64_t>(lengths_.size()); }
    int64_t num_bytes() const { return num_bytes_; }
    // Words of each document.
    const std::vector<uint32_t>& lengths() const { return lengths_; }
    int64_t num_words() const { return static_cast<int64_t>(lists_.size()); }

    // The lists of these words, u32, in this order.
    EncodedPostings encode(Bytes order) const;

  private:
    struct Posting {
        uint32_t document, frequency;
    };
    struct List {
        std::vector<Posting> postings;
        std::vector<uint32_t> positions;
    };

    void encode_blocks(const List& list, EncodedPostings& out) const;
    void encode_positions(const List& list, EncodedPostings& out) const;

    bool has_positions_, has_no_order_;
    std::vector<List> lists_;
    std::vector<uint32_t> lengths_;
    uint64_t num_tokens_ = 0;
    int64_t num_bytes_ = 0;
};

// Documents and frequencies, u32 each, of a list of `num_documents` in blocks: block j is at offsets[j] to offsets[j +
// 1] of `blocks`, and has `block_size` documents, 128 or 256, the last one the rest. is_varint: the last block has
// differences of 7 bits a byte, else numbers of 32 bits. Documents ascend, and are below `most_documents`.
void decode_postings(Bytes blocks, Bytes offsets, int64_t num_documents, int64_t block_size, bool is_varint,
                     int64_t most_documents, MutableBytes documents, MutableBytes frequencies);

}  // namespace lance
