// Offsets are walked once, bytes of neighbours are moved together.
#include "predicates/flagged_strings.h"

#include <algorithm>
#include <array>
#include <bit>

#include "encodings/decode.h"
#include "encodings/variable.h"

namespace lance {

namespace {

constexpr int64_t kTogether = 8;
constexpr uint64_t kAllFlags = 0x0101010101010101;
// If more than this many of eight strings have flags, all are copied, and overwritten by the next ones where they have
// none: a branch for each that cannot be predicted takes longer.
constexpr uint64_t kFewFlags = 2;

// Calls visit(chunk, piece, flags) for pieces with flags.
template <class Offset, class Visit>
void for_each_flagged_piece(const Chunks& chunks, const Ranges& rows, Bytes flags, Visit visit) {
    chunks.require_buffer_index(0);
    require_input(flags, rows.num_items(), "flags");
    VariableChunks<Offset> variable(chunks);
    for_each_piece(chunks.table(), rows, [&](const Piece& piece) {
        const uint8_t* of_piece = flags.data() + piece.position;
        if (std::memchr(of_piece, 1, static_cast<size_t>(piece.size())) == nullptr) return;
        const VariableChunk<Offset>& chunk = variable.of(piece);
        visit(chunk, piece, of_piece);
    });
}

// Appends copies of strings.
template <class Offset, class OutOffset>
class Copies {
  public:
    Copies(MutableBytes offsets, int64_t count, MutableBytes bytes)
        : offsets_(offsets.data()), room_(count), bytes_(bytes) {
        require_output(offsets, (count + 1) * width, "offsets");
        store<OutOffset>(offsets_, 0);
    }

    // The strings of a piece that have a flag.
    void add(const VariableChunk<Offset>& chunk, const Piece& piece, const uint8_t* flags) {
        const int64_t first = piece.first;
        const int64_t num_items = piece.size();
        heads_ = (static_cast<uint64_t>(piece.num_items) + 1) * sizeof(Offset);
        last_block_ = static_cast<uint64_t>(std::max<int64_t>(chunk.num_bytes() - kFlaggedSlack, 0));
        int64_t i = 0;
        while (i + kTogether <= num_items) {
            const auto together = load<uint64_t>(flags + i);
            if (together == kAllFlags) {
                const int64_t start = i;
                while (i + kTogether <= num_items && load<uint64_t>(flags + i) == kAllFlags) i += kTogether;
                add_run(chunk, first + start, first + i);
                continue;
            }
            if (together * kAllFlags >> 56 > kFewFlags && room_ - count_ >= kTogether) {
                for (int64_t k = i; k < i + kTogether; ++k) add_any(chunk, first + k, flags[k]);
            } else {
                for (uint64_t rest = together; rest != 0; rest &= rest - 1)
                    add_one(chunk, first + i + std::countr_zero(rest) / 8);
            }
            i += kTogether;
        }
        for (; i < num_items; ++i) {
            if (flags[i]) add_one(chunk, first + i);
        }
    }

    int64_t finish() const {
        if (count_ != room_) fail(count_, " flags, not ", room_);
        return position_;
    }

  private:
    static constexpr int64_t width = sizeof(OutOffset);

    using Block = std::array<uint8_t, kFlaggedSlack>;

    // Rejects strings [first, last) outside the chunk; those between are not checked.
    int64_t bytes_between(const VariableChunk<Offset>& chunk, int64_t first, int64_t last) const {
        const Offset start = chunk.offset(first);
        const Offset end = chunk.offset(last);
        if (start > end || start < heads_ || end > static_cast<uint64_t>(chunk.num_bytes())) {
            fail("the offsets ", start, " to ", end, " of values ", first, " to ", last, " do not rise inside of ",
                 chunk.num_bytes(), " bytes");
        }
        if (end - start > static_cast<uint64_t>(size_of(bytes_) - position_))
            fail("strings of more than ", bytes_.size(), " bytes");
        return static_cast<int64_t>(end - start);
    }

    // flag: 0 for a string that the next one takes the place of
    void add_any(const VariableChunk<Offset>& chunk, int64_t item, int64_t flag) {
        const Offset start = chunk.offset(item);
        auto size = static_cast<int64_t>((chunk.offset(item + 1) - start) * static_cast<Offset>(flag));
        // For most strings all bytes are in one block, which may be read and written.
        const bool is_block = static_cast<uint64_t>(size) <= kFlaggedSlack && start >= heads_ && start <= last_block_ &&
                              position_ + kFlaggedSlack <= size_of(bytes_);
        if (is_block) {
            store(bytes_.data() + position_, load<Block>(chunk.start() + start));
        } else if (flag) {
            size = bytes_between(chunk, item, item + 1);
            copy(bytes_.data() + position_, chunk.start() + start, size);
        }
        position_ += size;
        count_ += flag;
        store(offsets_ + count_ * width, static_cast<OutOffset>(position_));
    }

    void add_one(const VariableChunk<Offset>& chunk, int64_t item) {
        if (count_ == room_) fail("more flags than ", room_);
        add_any(chunk, item, 1);
    }

    // Strings [first, last), which are adjacent.
    void add_run(const VariableChunk<Offset>& chunk, int64_t first, int64_t last) {
        if (last - first > room_ - count_) fail("more flags than ", room_);
        if (!rises<Offset>(chunk.offsets(first), last - first))
            fail("the offsets of values ", first, " to ", last, " do not rise");
        const int64_t size = bytes_between(chunk, first, last);
        const auto start = static_cast<int64_t>(chunk.offset(first));
        copy(bytes_.data() + position_, chunk.start() + start, size);
        const auto moved = static_cast<OutOffset>(position_ - start);
        uint8_t* const to = offsets_ + (count_ + 1) * width;
        for (int64_t i = 0; i < last - first; ++i) {
            store(to + i * width, static_cast<OutOffset>(static_cast<OutOffset>(chunk.offset(first + 1 + i)) + moved));
        }
        position_ += size;
        count_ += last - first;
    }

    uint8_t* offsets_;
    int64_t room_;
    MutableBytes bytes_;
    int64_t position_ = 0;
    int64_t count_ = 0;
    uint64_t heads_ = 0;       // bytes of a chunk that are its offsets
    uint64_t last_block_ = 0;  // start of the last block of a chunk
};

}  // namespace

int64_t num_flagged_bytes(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags) {
    return with_offset(offset_bits, [&](auto kind) {
        using Offset = decltype(kind);
        int64_t total = 0;
        for_each_flagged_piece<Offset>(
            chunks, rows, flags, [&](const auto& chunk, const Piece& piece, const uint8_t* at) {
                chunk.checked_bytes(piece);
                Offset of_piece = 0;
                for (int64_t i = 0; i < piece.size(); ++i) {
                    const int64_t item = piece.first + i;
                    of_piece += static_cast<Offset>((chunk.offset(item + 1) - chunk.offset(item)) * at[i]);
                }
                total += static_cast<int64_t>(of_piece);
            });
        return total;
    });
}

int64_t copy_flagged(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags, int64_t count,
                     MutableBytes offsets, int64_t out_offset_bits, MutableBytes bytes) {
    return with_offset(offset_bits, [&](auto kind) {
        using Offset = decltype(kind);
        return with_offset(out_offset_bits, [&](auto out_kind) {
            using OutOffset = decltype(out_kind);
            Copies<Offset, OutOffset> copies(offsets, count, bytes);
            for_each_flagged_piece<Offset>(chunks, rows, flags,
                                           [&](const auto& chunk, const Piece& piece, const uint8_t* at) {
                                               try {
                                                   copies.add(chunk, piece, at);
                                               } catch (const std::invalid_argument& error) {
                                                   fail("chunk ", piece.chunk, ": ", error.what());
                                               }
                                           });
            const int64_t num_bytes = copies.finish();
            require_offset<OutOffset>(num_bytes);
            return num_bytes;
        });
    });
}

// Memory that is not written costs nothing, so that there is room for all of the strings instead of a count of those.
FlaggedStrings::FlaggedStrings(const Chunks& chunks, const Ranges& rows, int64_t offset_bits, Bytes flags,
                               int64_t count)
    : count_(count), offset_bits_(32) {
    const int64_t room = num_variable_bytes(chunks, rows, offset_bits) + kFlaggedSlack;
    if (room > max_offset<uint32_t>) offset_bits_ = 64;
    offsets_ = PooledBuffer(multiply(count + 1, offset_bits_ / 8));
    bytes_ = PooledBuffer(room);
    num_bytes_ = copy_flagged(chunks, rows, offset_bits, flags, count, {offsets_.data(), offsets().size()},
                              offset_bits_, {bytes_.data(), static_cast<size_t>(room)});
}

}  // namespace lance
