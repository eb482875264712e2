// Source: full text index specification, token sets.
//
// Words come in order, so that the nodes that a word does not share with the next one are complete: they are written
// when that is known, lowest first, and equal ones once. Numbers are as near to the root as they can be.
#include "search/word_dictionary.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace lance {

namespace {

constexpr uint64_t kVersion = 3;
constexpr uint64_t kNoAddress = 0;
// Nodes found equal to later ones; evicted ones only make the set larger.
constexpr size_t kMostKnown = 1 << 20;
constexpr char kCommon[] = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHGW";

struct Step {
    uint8_t byte;
    uint64_t add;
    uint64_t to;
};

struct Node {
    bool is_final = false;
    uint64_t final_add = 0;
    std::vector<Step> steps;
    // the byte that leads on to the next node that is not complete, with what it adds
    bool leads_on = false;
    uint8_t byte = 0;
    uint64_t add = 0;

    void complete(uint64_t to) {
        if (leads_on) steps.push_back({byte, add, to});
        leads_on = false;
    }
};

int64_t bytes_of(uint64_t number) {
    int64_t size = 1;
    while (number >>= 8) ++size;
    return size;
}

const std::array<uint8_t, 256>& common_codes() {
    static const std::array<uint8_t, 256> codes = [] {
        std::array<uint8_t, 256> table{};
        for (uint8_t i = 0; kCommon[i] != 0 && i < 63; ++i)
            table[static_cast<uint8_t>(kCommon[i])] = static_cast<uint8_t>(i + 1);
        return table;
    }();
    return codes;
}

class Writer {
  public:
    Writer() {
        number(kVersion, 8);
        number(0, 8);
        nodes_.resize(1);
    }

    void add(const uint8_t* word, int64_t size, uint64_t value) {
        int64_t shared = 0;
        while (shared < std::min<int64_t>(size, static_cast<int64_t>(last_.size())) &&
               last_[static_cast<size_t>(shared)] == word[shared])
            ++shared;
        const bool is_inside = shared < static_cast<int64_t>(last_.size());
        if (value > 0 && (shared == size || (is_inside && word[shared] < last_[static_cast<size_t>(shared)]))) {
            fail("words are not in order");
        }
        uint64_t left = value;
        // what both words do not have in common of a number moves down
        for (int64_t i = 0; i < shared; ++i) {
            Node& node = nodes_[static_cast<size_t>(i)];
            const uint64_t common = std::min(node.add, left), rest = node.add - common;
            node.add = common;
            left -= common;
            if (rest != 0) push_down(nodes_[static_cast<size_t>(i + 1)], rest);
        }
        close(shared);
        for (int64_t i = shared; i < size; ++i) {
            Node& node = nodes_.back();
            node.leads_on = true;
            node.byte = word[i];
            node.add = i == shared ? left : 0;
            nodes_.emplace_back();
        }
        nodes_.back().is_final = true;
        if (shared == size) nodes_.back().final_add = left;  // the empty word
        last_.assign(word, word + size);
        ++count_;
    }

    std::vector<uint8_t> finish() {
        close(0);
        nodes_[0].complete(kNoAddress);
        const uint64_t root = write(nodes_[0]);
        number(count_, 8);
        number(root, 8);
        number(masked_checksum(), 4);
        return std::move(out_);
    }

  private:
    static void push_down(Node& node, uint64_t rest) {
        if (node.is_final) node.final_add += rest;
        for (Step& step : node.steps) step.add += rest;
        if (node.leads_on) node.add += rest;
    }

    // Writes the nodes after the first `depth` bytes of the last word.
    void close(int64_t depth) {
        uint64_t to = kNoAddress;
        bool has_child = false;
        while (static_cast<int64_t>(nodes_.size()) > depth + 1) {
            if (has_child) nodes_.back().complete(to);
            to = write(nodes_.back());
            has_child = true;
            nodes_.pop_back();
        }
        if (has_child) nodes_.back().complete(to);
    }

    uint64_t write(const Node& node) {
        if (node.is_final && node.final_add == 0 && node.steps.empty()) return 0;
        const std::string key = key_of(node);
        if (const auto known = known_.find(key); known != known_.end()) return known->second;
        if (node.steps.size() == 1 && !node.is_final) {
            one_step(node.steps[0]);
        } else {
            all_steps(node);
        }
        const uint64_t address = out_.size() - 1;
        if (known_.size() >= kMostKnown) known_.clear();
        known_.emplace(key, address);
        return address;
    }

    void one_step(const Step& step) {
        const uint64_t start = out_.size();
        const uint8_t code = common_codes()[step.byte];
        // the byte just below this node is the highest one of the node before it
        if (step.to == start - 1 && step.add == 0 && step.to != kNoAddress) {
            if (code == 0) out_.push_back(step.byte);
            out_.push_back(static_cast<uint8_t>(0xc0 | code));
            return;
        }
        const uint64_t delta = step.to == kNoAddress ? 0 : start - step.to;
        const int64_t delta_bytes = bytes_of(delta), add_bytes = step.add == 0 ? 0 : bytes_of(step.add);
        number(step.add, add_bytes);
        number(delta, delta_bytes);
        out_.push_back(static_cast<uint8_t>(delta_bytes << 4 | add_bytes));
        if (code == 0) out_.push_back(step.byte);
        out_.push_back(static_cast<uint8_t>(0x80 | code));
    }

    void all_steps(const Node& node) {
        const uint64_t start = out_.size();
        int64_t delta_bytes = 0, add_bytes = 0;
        bool adds = node.final_add != 0;
        for (const Step& step : node.steps) {
            delta_bytes = std::max(delta_bytes, bytes_of(step.to == kNoAddress ? 0 : start - step.to));
            adds = adds || step.add != 0;
        }
        if (adds) {
            add_bytes = bytes_of(node.final_add);
            for (const Step& step : node.steps) add_bytes = std::max(add_bytes, bytes_of(step.add));
        }
        const size_t count = node.steps.size();
        if (adds && node.is_final) number(node.final_add, add_bytes);
        for (size_t i = count; i-- > 0;) number(node.steps[i].add, adds ? add_bytes : 0);
        for (size_t i = count; i-- > 0;)
            number(node.steps[i].to == kNoAddress ? 0 : start - node.steps[i].to, delta_bytes);
        for (size_t i = count; i-- > 0;) out_.push_back(node.steps[i].byte);
        if (count > 32) {
            std::array<uint8_t, 256> indices;
            indices.fill(255);
            for (size_t i = 0; i < count; ++i) indices[node.steps[i].byte] = static_cast<uint8_t>(i);
            out_.insert(out_.end(), indices.begin(), indices.end());
        }
        out_.push_back(static_cast<uint8_t>(delta_bytes << 4 | add_bytes));
        const bool is_small = count >= 1 && count <= 63;
        if (!is_small) out_.push_back(count == 256 ? uint8_t{1} : static_cast<uint8_t>(count));
        out_.push_back(static_cast<uint8_t>((node.is_final ? 0x40 : 0) | (is_small ? count : 0)));
    }

    void number(uint64_t value, int64_t size) {
        for (int64_t i = 0; i < size; ++i) out_.push_back(static_cast<uint8_t>(value >> (8 * i)));
    }

    static std::string key_of(const Node& node) {
        std::string key(1, node.is_final ? '1' : '0');
        const auto put = [&key](uint64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
        put(node.final_add);
        for (const Step& step : node.steps) {
            key.push_back(static_cast<char>(step.byte));
            put(step.add);
            put(step.to);
        }
        return key;
    }

    // CRC-32C, turned around as transducers have it.
    uint32_t masked_checksum() const {
        std::array<uint32_t, 256> table;
        for (uint32_t i = 0; i < 256; ++i) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
            table[i] = value;
        }
        uint32_t sum = 0xffffffff;
        for (const uint8_t byte : out_) sum = table[(sum ^ byte) & 0xff] ^ sum >> 8;
        sum = ~sum;
        return (sum >> 15 | sum << 17) + 0xa282ead8u;
    }

    std::vector<uint8_t> out_;
    std::vector<Node> nodes_;
    std::vector<uint8_t> last_;
    std::unordered_map<std::string, uint64_t> known_;
    uint64_t count_ = 0;
};

}  // namespace

std::vector<uint8_t> token_set(Bytes words, Bytes ends, int64_t num_words) {
    require_input(ends, multiply(num_words + 1, 8), "ends");
    Writer writer;
    int64_t start = load<int64_t>(ends.data());
    for (int64_t i = 0; i < num_words; ++i) {
        const int64_t end = load<int64_t>(ends.data() + 8 * (i + 1));
        if (start < 0 || end < start || end > size_of(words)) fail("word ", i, " at bytes ", start, " to ", end);
        writer.add(words.data() + start, end - start, static_cast<uint64_t>(i));
        start = end;
    }
    return writer.finish();
}

}  // namespace lance
