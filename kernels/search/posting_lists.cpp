// Source: full text index specification, posting lists of format 2; BM25.
#include "search/posting_lists.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace lance {

namespace {

constexpr size_t kBlock = 128;
constexpr int64_t kLanes = 4;
constexpr int64_t kValuesPerLane = 32;
// Blocks that one more impact covers.
constexpr size_t kBlocksTogether = 32;
constexpr uint32_t kLeftOut = 0xffffffff;

using Block = std::array<uint32_t, kBlock>;

void put_u32(std::vector<uint8_t>& out, uint32_t value) {
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void put_varint(std::vector<uint8_t>& out, uint32_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<uint8_t>(value | 0x80));
    out.push_back(static_cast<uint8_t>(value));
}

int64_t width_of(const Block& values) {
    uint32_t every = 0;
    for (const uint32_t value : values) every |= value;
    return std::bit_width(every);
}

// A byte with the width, then value i at index i / 4 of lane i % 4; the words of the lanes alternate.
void put_packed(std::vector<uint8_t>& out, const Block& values) {
    const int64_t width = width_of(values);
    out.push_back(static_cast<uint8_t>(width));
    std::array<uint32_t, kBlock> words{};
    for (int64_t lane = 0; lane < kLanes; ++lane) {
        for (int64_t i = 0; i < kValuesPerLane; ++i) {
            const uint64_t value = values[static_cast<size_t>(i * kLanes + lane)];
            const int64_t bit = i * width, word = bit / 32;
            const uint64_t moved = value << (bit % 32);
            if (width == 0) continue;
            words[static_cast<size_t>(word * kLanes + lane)] |= static_cast<uint32_t>(moved);
            if (word + 1 < width)
                words[static_cast<size_t>((word + 1) * kLanes + lane)] |= static_cast<uint32_t>(moved >> 32);
        }
    }
    for (int64_t i = 0; i < width * kLanes; ++i) put_u32(out, words[static_cast<size_t>(i)]);
}

// A length in a byte: four significant bits.
uint32_t length_code(uint32_t length) {
    const int bits = std::bit_width(length);
    if (bits < 4) return length;
    const int shift = bits - 4;
    return (length >> shift & 7) | static_cast<uint32_t>(shift + 1) << 3;
}

// The pairs of which no other has both more occurrences and a shorter text.
class Impacts {
  public:
    void add(uint32_t frequency, uint32_t code) {
        if (frequency > most_[code]) most_[code] = frequency;
    }
    void join(const Impacts& other) {
        for (size_t i = 0; i < most_.size(); ++i) most_[i] = std::max(most_[i], other.most_[i]);
    }
    void put(std::vector<uint8_t>& out, uint32_t last_document) const {
        std::array<std::pair<uint32_t, uint32_t>, 256> pairs;
        size_t count = 0;
        uint32_t most = 0;
        for (uint32_t code = 0; code < 256; ++code) {
            if (most_[code] <= most) continue;
            most = most_[code];
            pairs[count++] = {most, code};
        }
        put_varint(out, last_document);
        put_varint(out, static_cast<uint32_t>(count));
        uint32_t frequency = 0, code = 0;
        for (size_t i = 0; i < count; ++i) {
            const uint32_t more = pairs[i].first - frequency - 1, longer = pairs[i].second - code;
            put_varint(out, more << 1 | (longer == 1 ? 0 : 1));
            if (longer != 1) put_varint(out, longer);
            frequency = pairs[i].first;
            code = pairs[i].second;
        }
    }

  private:
    std::array<uint32_t, 256> most_{};
};

}  // namespace

void PostingLists::add(Bytes tokens, Bytes ends, int64_t num_texts, Bytes words, MutableBytes is_document) {
    require_input(ends, multiply(num_texts, 8), "ends");
    require_output(is_document, num_texts, "is_document");
    const int64_t num_numbers = size_of(words) / 4;
    int64_t at = 0;
    for (int64_t text = 0; text < num_texts; ++text) {
        const int64_t end = load<int64_t>(ends.data() + 8 * text);
        if (end < at || end > size_of(tokens) / 4) fail("text ", text, " ends at word ", end);
        const auto document = static_cast<uint32_t>(lengths_.size());
        uint32_t length = 0;
        for (int64_t i = at; i < end; ++i) {
            const uint32_t number = load<uint32_t>(tokens.data() + 4 * i);
            if (number >= num_numbers) fail("word ", number, " of ", num_numbers);
            const uint32_t word = load<uint32_t>(words.data() + 4 * int64_t{number});
            if (word == kLeftOut) continue;
            if (word >= lists_.size()) {
                // words are numbered as they come
                if (word >= num_numbers) fail("word ", word, " as one of ", num_numbers);
                num_bytes_ += static_cast<int64_t>((word + 1 - lists_.size()) * sizeof(List));
                lists_.resize(word + 1);
            }
            ++length;
            List& list = lists_[word];
            if (list.postings.empty() || list.postings.back().document != document) {
                list.postings.push_back({document, 0});
                num_bytes_ += sizeof(Posting);
            }
            ++list.postings.back().frequency;
            if (has_positions_) {
                list.positions.push_back(has_no_order_ ? 0 : static_cast<uint32_t>(i - at));
                num_bytes_ += 4;
            }
        }
        if (length > 0) {
            if (lengths_.size() >= kLeftOut) fail("more than ", kLeftOut, " documents");
            lengths_.push_back(length);
            num_tokens_ += length;
            num_bytes_ += 4;
        }
        is_document[static_cast<size_t>(text)] = length > 0;
        at = end;
    }
}

EncodedPostings PostingLists::encode(Bytes order) const {
    EncodedPostings out;
    for (size_t i = 0; i + 4 <= order.size(); i += 4) {
        const uint32_t word = load<uint32_t>(order.data() + i);
        if (word >= lists_.size()) fail("word ", word, " of ", lists_.size());
        const List& list = lists_[word];
        encode_blocks(list, out);
        if (has_positions_) encode_positions(list, out);
        if (out.blocks.item_ends.size() > std::numeric_limits<int32_t>::max() / 2) fail("too many blocks");
    }
    return out;
}

void PostingLists::encode_blocks(const List& list, EncodedPostings& out) const {
    // in 32 bits and in this order, as the releases that read it do
    const auto count = static_cast<float>(list.postings.size()), every = static_cast<float>(lengths_.size());
    const float idf = std::log((every - count + 0.5f) / (count + 0.5f) + 1.0f);
    const float average = static_cast<float>(static_cast<double>(num_tokens_) / static_cast<double>(lengths_.size()));
    const float factor = idf * (1.2f + 1.0f);
    float greatest_of_list = 0;
    std::vector<uint8_t> impacts;
    std::vector<Impacts> together;
    std::vector<uint32_t> last_documents;
    for (size_t start = 0; start < list.postings.size(); start += kBlock) {
        const size_t size = std::min(kBlock, list.postings.size() - start);
        Block documents{}, frequencies{};
        float greatest = 0;
        Impacts own;
        for (size_t i = 0; i < size; ++i) {
            const Posting& posting = list.postings[start + i];
            const uint32_t length = lengths_[posting.document];
            const auto frequency = static_cast<float>(posting.frequency);
            const float norm = 1.2f * (1.0f - 0.75f + 0.75f * static_cast<float>(length) / average);
            greatest = std::max(greatest, factor * (frequency / (frequency + norm)));
            own.add(posting.frequency, length_code(length));
            documents[i] = posting.document;
            frequencies[i] = posting.frequency;
        }
        greatest_of_list = std::max(greatest_of_list, greatest);
        std::vector<uint8_t>& bytes = out.blocks.bytes;
        put_u32(bytes, std::bit_cast<uint32_t>(greatest));
        const uint32_t last = documents[size - 1];
        if (size == kBlock) {
            put_u32(bytes, documents[0]);
            for (size_t i = kBlock; --i > 0;) documents[i] -= documents[i - 1];
            documents[0] = 0;
            put_packed(bytes, documents);
            put_packed(bytes, frequencies);
        } else {
            for (size_t i = 0; i < size; ++i) put_varint(bytes, documents[i] - (i == 0 ? 0 : documents[i - 1]));
            for (size_t i = 0; i < size; ++i) put_varint(bytes, frequencies[i]);
        }
        out.blocks.end_item();
        own.put(out.impacts.bytes, last);
        out.impacts.end_item();
        if (start / kBlock % kBlocksTogether == 0) {
            together.emplace_back();
            last_documents.push_back(0);
        }
        together.back().join(own);
        last_documents.back() = last;
    }
    for (size_t i = 0; i < together.size(); ++i) {
        together[i].put(out.impacts.bytes, last_documents[i]);
        out.impacts.end_item();
    }
    out.blocks.end_list();
    out.impacts.end_list();
    out.max_scores.push_back(greatest_of_list);
    out.counts.push_back(static_cast<uint32_t>(list.postings.size()));
}

void PostingLists::encode_positions(const List& list, EncodedPostings& out) const {
    const size_t first_byte = out.positions.size();
    std::vector<uint32_t> values;
    size_t at = 0;
    for (size_t start = 0; start < list.postings.size(); start += kBlock) {
        out.position_starts.push_back(static_cast<uint32_t>(out.positions.size() - first_byte));
        values.clear();
        for (size_t i = start; i < std::min(start + kBlock, list.postings.size()); ++i) {
            uint32_t before = 0;
            for (uint32_t j = 0; j < list.postings[i].frequency; ++j, ++at) {
                values.push_back(list.positions[at] - before);
                before = list.positions[at];
            }
        }
        size_t i = 0;
        for (; i + kBlock <= values.size(); i += kBlock) {
            Block block;
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i), kBlock, block.begin());
            put_packed(out.positions, block);
        }
        for (; i < values.size(); ++i) put_varint(out.positions, values[i]);
    }
    if (out.positions.size() - first_byte > std::numeric_limits<uint32_t>::max()) fail("too many positions of a word");
    out.position_ends.push_back(static_cast<int64_t>(out.positions.size()));
    out.position_list_ends.push_back(static_cast<int32_t>(out.position_starts.size()));
}

}  // namespace lance
