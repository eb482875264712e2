// Few rows are found in their places, many are decoded and collected.
#include "predicates/selected_values.h"

#include <array>

#include "encodings/decode.h"
#include "predicates/collector.h"

namespace lance {

namespace {

// A bit for each item that has a flag: whether it is not NULL; returns how many are.
int64_t append_bits(const uint8_t* levels, const uint8_t* flags, int64_t count, BitWriter& out) {
    int64_t num_null = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (!flags[i]) continue;
        const bool is_valid = load<uint16_t>(levels + 2 * i) == 0;
        out.append(is_valid, 1);
        num_null += !is_valid;
    }
    return num_null;
}

// Collects single values in order, some time after their positions are known: they are prefetched by then, from any
// chunks.
template <class Item, class Place>
class Awaited {
  public:
    explicit Awaited(Collector<Item>& collector) : collector_(collector) {}

    void add(const Place& value) {
        Place& slot = slots_[count_ % kMost];
        if (count_ >= kMost) collector_.put(slot.template get<Item>());
        slot = value;
        prefetch(value.at);
        prefetch(value.at + value.next);
        ++count_;
    }

    void finish() {
        for (size_t i = count_ < kMost ? 0 : count_ - kMost; i < count_; ++i) {
            collector_.put(slots_[i % kMost].template get<Item>());
        }
        count_ = 0;
    }

  private:
    // Processors wait for no more than some dozens of lines of memory at a time.
    static constexpr size_t kMost = 16;

    Collector<Item>& collector_;
    std::array<Place, kMost> slots_;
    size_t count_ = 0;
};

// A value stored without encoding.
struct StoredValue {
    const uint8_t* at;
    static constexpr int64_t next = 0;

    template <class Item>
    Item get() const {
        return load<Item>(at);
    }
};

// The headers of this many chunks are prefetched, because they describe how the values are packed.
constexpr int64_t kChunksAhead = 4;

// Calls visit(piece, first, last) for pieces with items that have passed, with the range of their positions.
template <class Visit>
void for_each_passed(const Chunks& chunks, const Ranges& ranges, const PassedRows& passed, Visit visit) {
    size_t i = 0;
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const int64_t end = piece.position + piece.size();
        const size_t first = i;
        while (i < passed.num_places() && passed.place(i) < end) ++i;
        if (first == i) return;
        chunks.prefetch(piece.chunk + kChunksAhead);
        visit(piece, first, i);
    });
}

// For few rows, so that most chunks have a handful.
template <class Item>
void append_places(Collector<Item>& collector, const Chunks& chunks, const Ranges& ranges, PieceValues& values,
                   PieceLevels* levels, const PassedRows& passed, BitWriter* validity, int64_t& num_null) {
    constexpr bool can_be_packed = sizeof(Item) <= 8;
    Awaited<Item, std::conditional_t<can_be_packed, PackedValue, StoredValue>> packed(collector);
    Awaited<Item, StoredValue> stored(collector);
    for_each_passed(chunks, ranges, passed, [&](const Piece& piece, size_t first, size_t last) {
        const auto for_each_place = [&](auto visit) {
            for (size_t i = first; i < last; ++i) visit(passed.place(i) - piece.position);
        };
        const bool are_few = static_cast<int64_t>(last - first) * kRowsPerPlace < piece.num_items;
        bool is_found = false;
        if constexpr (can_be_packed) {
            is_found = are_few && values.has_places(piece);
            if (is_found) {
                const PackedGroup<Item> group = values.template group<Item>(piece);
                for_each_place([&](int64_t index) { packed.add(group.find(piece.first + index)); });
            }
        }
        if (!is_found) {
            packed.finish();
            const uint8_t* data = values.of(piece);
            for_each_place([&](int64_t index) { stored.add({data + index * static_cast<int64_t>(sizeof(Item))}); });
            // decoded values are moved with the next piece
            if (!values.are_stored()) stored.finish();
        }
        if (levels == nullptr) return;
        const uint8_t* here = levels->of(piece);
        for_each_place([&](int64_t index) {
            const bool is_valid = load<uint16_t>(here + 2 * index) == 0;
            validity->append(is_valid, 1);
            num_null += !is_valid;
        });
    });
    packed.finish();
    stored.finish();
}

// Calls visit(Item{}) with a type of that many bits.
template <class Visit>
void with_item(int64_t num_bits, Visit visit) {
    if (num_bits == 128) {
        visit(Wide{});
    } else {
        with_word(num_bits, visit);
    }
}

}  // namespace

int64_t append_selected(const Chunks& chunks, const Ranges& ranges, const FixedWidthEncoding& encoding,
                        const std::optional<LevelEncoding>& definition, const PassedRows& passed, MutableBytes out,
                        BitWriter* validity) {
    require_input(passed.flags(), ranges.num_items(), "flags");
    if (definition && !validity) fail("values that may be NULL need a bitmap");
    PieceValues values(chunks, encoding);
    std::optional<PieceLevels> levels;
    if (definition) levels.emplace(chunks, *definition);
    int64_t num_null = 0;
    with_item(encoding.num_bits, [&](auto item) {
        Collector<decltype(item)> collector(out);
        if (passed.has_places()) {
            append_places(collector, chunks, ranges, values, levels ? &*levels : nullptr, passed, validity, num_null);
            return;
        }
        for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
            const uint8_t* at = passed.flags().data() + piece.position;
            if (!has_flags({at, static_cast<size_t>(piece.size())})) return;
            collector.add(values.of(piece), at, piece.size());
            if (levels) num_null += append_bits(levels->of(piece), at, piece.size(), *validity);
        });
    });
    return passed.count() - num_null;
}

int64_t append_selected_validity(const Chunks& chunks, const Ranges& ranges, const LevelEncoding& definition,
                                 Bytes flags, BitWriter& out) {
    require_input(flags, ranges.num_items(), "flags");
    PieceLevels levels(chunks, definition);
    int64_t num_null = 0;
    for_each_piece(chunks.table(), ranges, [&](const Piece& piece) {
        const uint8_t* at = flags.data() + piece.position;
        if (has_flags({at, static_cast<size_t>(piece.size())}))
            num_null += append_bits(levels.of(piece), at, piece.size(), out);
    });
    return count_flags(flags.first(static_cast<size_t>(ranges.num_items()))) - num_null;
}

}  // namespace lance
