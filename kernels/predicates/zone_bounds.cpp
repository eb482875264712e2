// Bounds of values, and runs of rows that are joined if they are adjacent.
#include "predicates/zone_bounds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <shared_mutex>

#include "encodings/decode.h"
#include "encodings/variable.h"
#include "system/bits.h"

namespace lance {

namespace {

// Held together with any lock of bounds, and by a process while it forks, so that no lock in the child belongs to a
// missing thread.
std::shared_mutex* fork_gate = new std::shared_mutex;

}  // namespace

void hold_zone_bounds() { fork_gate->lock(); }

void release_zone_bounds() { fork_gate->unlock(); }

bool are_zone_bounds_free() { return std::shared_lock(*fork_gate, std::try_to_lock).owns_lock(); }

// The thread that held it has another number in the child, and could not unlock it.
void renew_zone_bounds() { fork_gate = new std::shared_mutex; }

namespace {

constexpr int64_t kMostZones = int64_t{1} << 20;
constexpr int64_t kTogether = 1024;
constexpr uint64_t kTopBit = uint64_t{1} << 63;

void merge(KeyBounds& into, const KeyBounds& other) {
    into.low = std::min(into.low, other.low);
    into.high = std::max(into.high, other.high);
    into.num_valid += other.num_valid;
    into.num_nans += other.num_nans;
}

// Keys of 64 bits for signed values of 128 bits: values that do not fit become the least or the greatest key.
void bound_wide_keys(const uint8_t* values, const uint8_t* levels, int64_t num_values, KeyBounds& into) {
    for (int64_t i = 0; i < num_values; ++i) {
        if (levels != nullptr && load<uint16_t>(levels + 2 * i) != 0) continue;
        const auto low = load<uint64_t>(values + 16 * i);
        const auto high = load<int64_t>(values + 16 * i + 8);
        const bool fits = high == (static_cast<int64_t>(low) >> 63);
        const uint64_t key = fits ? low ^ kTopBit : high < 0 ? 0 : ~uint64_t{0};
        into.low = std::min(into.low, key);
        into.high = std::max(into.high, key);
        ++into.num_valid;
    }
}

BoundKeys loop_for(ValueOrder order, int64_t num_bits) {
    if (num_bits == 128) {
        if (order != ValueOrder::kSigned) fail("values of 128 bits are signed");
        return bound_wide_keys;
    }
    if (num_bits != 8 && num_bits != 16 && num_bits != 32 && num_bits != 64) fail("values of ", num_bits, " bits");
    const BoundKeys loop =
        filter_loops.bound_keys[static_cast<size_t>(order)]
                               [static_cast<size_t>(std::bit_width(static_cast<uint64_t>(num_bits / 8)) - 1)];
    if (loop == nullptr) fail("floats of ", num_bits, " bits, not 32 or 64");
    return loop;
}

// u16 for each bit of a bitmap: 0 if it is set.
class BitmapLevels {
  public:
    BitmapLevels(std::optional<Bytes> validity, int64_t offset, int64_t count) : validity_(validity), offset_(offset) {
        if (validity_) require_input(*validity_, bytes_for_bits(offset + count), "validity");
    }

    const uint8_t* of(int64_t first, int64_t count) {
        if (!validity_) return nullptr;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t bit = offset_ + first + i;
            const bool is_valid = ((*validity_)[static_cast<size_t>(bit / 8)] >> (bit % 8) & 1) != 0;
            levels_[static_cast<size_t>(i)] = is_valid ? 0 : 1;
        }
        return reinterpret_cast<const uint8_t*>(levels_.data());
    }

  private:
    std::optional<Bytes> validity_;
    int64_t offset_;
    std::array<uint16_t, kTogether> levels_;
};

std::atomic<uint64_t> last_number = 0;

// Fewer zones are all learned at once.
constexpr int64_t kFewZones = 16;
// One batch in this many is learned although its zones are like all others.
constexpr int64_t kUnlikelyShare = 16;

// The number of a key of floats.
double number_of(uint64_t key, int64_t num_bits) {
    if (num_bits == 32) {
        const auto bits = static_cast<uint32_t>(key);
        return std::bit_cast<float>(bits >> 31 != 0 ? bits ^ uint32_t{1} << 31 : ~bits);
    }
    return std::bit_cast<double>(key >> 63 != 0 ? key ^ kTopBit : ~key);
}

}  // namespace

uint64_t string_key(const uint8_t* data, int64_t length, int64_t left) {
    if (left >= 8) {
        const uint64_t word = __builtin_bswap64(load<uint64_t>(data));
        if (length >= 8) return word;
        return length == 0 ? 0 : word & ~uint64_t{0} << (64 - 8 * length);
    }
    uint64_t word = 0;
    for (int64_t i = 0; i < std::min<int64_t>(length, 8); ++i) word |= uint64_t{data[i]} << (56 - 8 * i);
    return word;
}

ZoneBounds::ZoneBounds(ValueOrder order, int64_t num_bits, int64_t num_rows, int64_t rows_per_zone)
    : number_(last_number.fetch_add(1) + 1),
      order_(order),
      num_bits_(num_bits),
      num_rows_(num_rows),
      rows_per_zone_(rows_per_zone) {
    if (rows_per_zone < 1) fail("zones of ", rows_per_zone, " rows");
    const int64_t count = num_rows / rows_per_zone + (num_rows % rows_per_zone != 0);
    if (count > kMostZones) fail(count, " zones");
    loop_for(order, num_bits);
    zones_.resize(static_cast<size_t>(count));
}

bool ZoneBounds::is_known(int64_t zone) const {
    const SeenRows& seen = zones_[static_cast<size_t>(zone)];
    return seen.start == zone * rows_per_zone_ && seen.end == end_of(zone);
}

std::vector<uint8_t> ZoneBounds::known() const {
    const std::shared_lock fork(*fork_gate);
    const std::lock_guard lock(mutex_);
    std::vector<uint8_t> flags(zones_.size());
    for (size_t zone = 0; zone < flags.size(); ++zone) flags[zone] = is_known(static_cast<int64_t>(zone));
    return flags;
}

int64_t ZoneBounds::num_known() const {
    const std::shared_lock fork(*fork_gate);
    const std::lock_guard lock(mutex_);
    return num_known_;
}

std::vector<SeenRows> ZoneBounds::zones() const {
    const std::shared_lock fork(*fork_gate);
    const std::lock_guard lock(mutex_);
    return zones_;
}

void ZoneBounds::add(const std::vector<SeenRows>& runs) {
    const std::shared_lock fork(*fork_gate);
    const std::lock_guard lock(mutex_);
    for (const SeenRows& run : runs) {
        const int64_t zone = run.start / rows_per_zone_;
        if (run.start < 0 || run.start >= run.end || run.end > num_rows_ || run.end > end_of(zone)) {
            fail("rows ", run.start, " to ", run.end, " are not in one zone");
        }
        if (is_known(zone)) continue;
        SeenRows& seen = zones_[static_cast<size_t>(zone)];
        if (seen.end == run.start && seen.start < seen.end) {
            merge(seen.keys, run.keys);
            seen.end = run.end;
        } else if (run.end == seen.start && seen.start < seen.end) {
            merge(seen.keys, run.keys);
            seen.start = run.start;
        } else if (run.end - run.start > seen.end - seen.start) {
            // rows counted twice look like NULLs: of two runs that overlap, or have a gap between them, only one is
            // stored
            seen = run;
        }
        num_known_ += is_known(zone);
    }
}

double ZoneBounds::width_of(const KeyBounds& keys) const {
    if (order_ != ValueOrder::kFloat) return static_cast<double>(keys.high - keys.low);
    return number_of(keys.high, num_bits_) - number_of(keys.low, num_bits_);
}

bool ZoneBounds::is_worth_learning(const std::vector<SeenRows>& samples) {
    if (num_zones() < kFewZones || samples.empty()) return true;
    const std::shared_lock fork(*fork_gate);
    const std::lock_guard lock(mutex_);
    for (const SeenRows& each : samples) merge(sampled_, each.keys);
    for (const SeenRows& each : samples) {
        // only NULLs, or one value among others, or few of all values
        if (each.keys.low > each.keys.high || !(2 * width_of(each.keys) >= width_of(sampled_))) return true;
    }
    return sampled_.low == sampled_.high || num_unlikely_++ % kUnlikelyShare == kUnlikelyShare - 1;
}

void ZoneBounds::note_decided() {
    int64_t nothing = -1;
    decided_rows_.compare_exchange_strong(nothing, num_rows_ > kMaxCount / 2 ? kMaxCount : 2 * num_rows_);
}

bool ZoneBounds::takes_decided(int64_t num_rows) {
    return decided_rows_.load() > 0 && decided_rows_.fetch_sub(num_rows) > 0;
}

ZoneObserver::ZoneObserver(ZoneBounds& zones)
    : zones_(zones), known_(zones.known()), bound_keys_(loop_for(zones.order(), zones.num_bits())) {}

bool ZoneObserver::wants(int64_t row, int64_t count) const {
    bool has_unknown = false;
    for_each_zone(row, count, [&](int64_t, int64_t) { has_unknown = true; });
    return has_unknown;
}

template <class Visit>
void ZoneObserver::for_each_zone(int64_t row, int64_t count, Visit visit) const {
    if (row < 0 || count < 0 || count > zones_.num_rows() - row)
        fail("rows ", row, " to ", row + count, " of ", zones_.num_rows());
    const int64_t size = zones_.rows_per_zone();
    for (int64_t done = 0; done < count;) {
        const int64_t zone = (row + done) / size;
        const int64_t now = std::min(count - done, (zone + 1) * size - row - done);
        if (!known_[static_cast<size_t>(zone)]) visit(done, now);
        done += now;
    }
}

SeenRows& ZoneObserver::run(int64_t row, int64_t count) {
    const int64_t size = zones_.rows_per_zone();
    if (runs_.empty() || runs_.back().end != row || runs_.back().start / size != row / size) {
        runs_.push_back({row, row, {}});
    }
    runs_.back().end += count;
    return runs_.back();
}

std::optional<KeyBounds> ZoneObserver::add(int64_t row, const uint8_t* values, const uint8_t* levels, int64_t count) {
    const int64_t width = zones_.num_bits() / 8;
    KeyBounds all;
    int64_t num_seen = 0;
    for_each_zone(row, count, [&](int64_t first, int64_t now) {
        KeyBounds bounds;
        bound_keys_(values + first * width, levels == nullptr ? nullptr : levels + 2 * first, now, bounds);
        merge(run(row + first, now).keys, bounds);
        merge(all, bounds);
        num_seen += now;
    });
    return num_seen == count ? std::optional(all) : std::nullopt;
}

void ZoneObserver::add_constant(int64_t row, const uint8_t* value, int64_t count) {
    for_each_zone(row, count, [&](int64_t first, int64_t now) {
        KeyBounds& keys = run(row + first, now).keys;
        if (value == nullptr) return;
        KeyBounds one;
        bound_keys_(value, nullptr, 1, one);
        one.num_valid *= now;
        one.num_nans *= now;
        merge(keys, one);
    });
}

void ZoneObserver::add_array(int64_t row, Bytes values, std::optional<Bytes> validity, int64_t offset, int64_t count) {
    const int64_t width = zones_.num_bits() / 8;
    require_input(values, multiply(offset + count, width), "values");
    BitmapLevels levels(validity, offset, count);
    for (int64_t done = 0; done < count; done += kTogether) {
        const int64_t now = std::min(kTogether, count - done);
        if (wants(row + done, now)) add(row + done, values.data() + (offset + done) * width, levels.of(done, now), now);
    }
}

std::vector<KeyBounds> bound_runs(ValueOrder order, int64_t num_bits, Bytes values, std::optional<Bytes> validity,
                                  int64_t offset, const std::vector<int64_t>& edges) {
    const BoundKeys bound_keys = loop_for(order, num_bits);
    if (edges.empty() || edges.front() < 0 || !std::is_sorted(edges.begin(), edges.end())) fail("edges that descend");
    const int64_t width = num_bits / 8;
    require_input(values, multiply(offset + edges.back(), width), "values");
    BitmapLevels levels(validity, offset, edges.back());
    std::vector<KeyBounds> bounds(edges.size() - 1);
    for (size_t run = 0; run < bounds.size(); ++run) {
        // all at once without NULLs, otherwise as many as have levels
        const int64_t most = validity ? kTogether : edges[run + 1] - edges[run];
        for (int64_t done = edges[run]; done < edges[run + 1]; done += most) {
            const int64_t now = std::min(most, edges[run + 1] - done);
            bound_keys(values.data() + (offset + done) * width, levels.of(done, now), now, bounds[run]);
        }
    }
    return bounds;
}

void ZoneObserver::add_strings(int64_t row, Bytes offsets, int64_t offset_bits, Bytes data,
                               std::optional<Bytes> validity, int64_t offset, int64_t count) {
    require_strings();
    BitmapLevels levels(validity, offset, count);
    with_offset(offset_bits, [&](auto kind) {
        using Offset = decltype(kind);
        constexpr auto width = static_cast<int64_t>(sizeof(Offset));
        require_input(offsets, multiply(offset + count + 1, width), "offsets");
        const auto bound = [&](int64_t i) {
            return static_cast<int64_t>(load<Offset>(offsets.data() + (offset + i) * width));
        };
        for (int64_t done = 0; done < count; done += kTogether) {
            const int64_t now = std::min(kTogether, count - done);
            if (!wants(row + done, now)) continue;
            const uint8_t* here = levels.of(done, now);
            for_each_zone(row + done, now, [&](int64_t first, int64_t size) {
                KeyBounds& keys = run(row + done + first, size).keys;
                KeyBounds bounds;
                for (int64_t i = first; i < first + size; ++i) {
                    if (here != nullptr && load<uint16_t>(here + 2 * i) != 0) continue;
                    const int64_t start = bound(done + i);
                    const int64_t end = bound(done + i + 1);
                    if (start < 0 || end < start || end > size_of(data))
                        fail("a string from byte ", start, " to ", end);
                    const uint64_t key = string_key(data.data() + start, end - start, size_of(data) - start);
                    bounds.low = std::min(bounds.low, key);
                    bounds.high = std::max(bounds.high, key);
                    ++bounds.num_valid;
                }
                merge(keys, bounds);
            });
        }
    });
}

void ZoneObserver::require_strings() const {
    if (zones_.order() != ValueOrder::kUnsigned || zones_.num_bits() != 64)
        fail("keys of strings are unsigned, of 64 bits");
}

bool ZoneObserver::is_worth_learning() const { return zones_.is_worth_learning(runs_); }

void ZoneObserver::finish() {
    zones_.add(runs_);
    runs_.clear();
}

}  // namespace lance
