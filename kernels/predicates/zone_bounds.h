// Statistics of a column by zone: the bounds of the keys, NULLs and NaN.
//
//     rows   |  zone 0  |  zone 1  |  zone 2  |     rows_per_zone rows each
//     seen   [----------------)  [------------)     a zone is known once all of its rows were seen
//
// Rows arrive in runs, in any order and from several threads; adjacent runs of a zone are joined.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "predicates/filter_loops.h"

namespace lance {

// Before a process forks, after it in the parent, and in the child: no thread uses bounds meanwhile.
void hold_zone_bounds();
void release_zone_bounds();
void renew_zone_bounds();
// Whether the process does not fork now.
bool are_zone_bounds_free();

// Statistics of rows [start, end) of a zone.
struct SeenRows {
    int64_t start = 0;
    int64_t end = 0;
    KeyBounds keys;
};

class ZoneBounds {
  public:
    // num_bits: of a value; of 128 bits, only keys that fit into 64 are distinguished
    ZoneBounds(ValueOrder order, int64_t num_bits, int64_t num_rows, int64_t rows_per_zone);

    ValueOrder order() const { return order_; }
    int64_t num_bits() const { return num_bits_; }
    int64_t num_rows() const { return num_rows_; }
    int64_t rows_per_zone() const { return rows_per_zone_; }
    int64_t num_zones() const { return static_cast<int64_t>(zones_.size()); }

    // Unique among all bounds of the process, also later ones.
    uint64_t number() const { return number_; }

    // The zones of which all rows were seen.
    std::vector<uint8_t> known() const;
    int64_t num_known() const;
    std::vector<SeenRows> zones() const;

    // Adds runs of rows, each inside one zone.
    void add(const std::vector<SeenRows>& runs);

    // Whether rows are worth learning, by a sample: bounds of zones prune little if values are unordered. Such rows are
    // learned occasionally, so that all zones are complete in the end.
    bool is_worth_learning(const std::vector<SeenRows>& samples);

    // Called if all rows of a batch passed a test, which bounds would have decided. From now on any rows are worth
    // learning, until all were visited twice: some zones have rows that are never read.
    void note_decided();
    // Whether that holds for this many more rows.
    bool takes_decided(int64_t num_rows);

  private:
    int64_t end_of(int64_t zone) const { return std::min((zone + 1) * rows_per_zone_, num_rows_); }
    bool is_known(int64_t zone) const;
    // The distance of the bounds, which are not empty.
    double width_of(const KeyBounds& keys) const;

    const uint64_t number_;
    ValueOrder order_;
    int64_t num_bits_;
    int64_t num_rows_;
    int64_t rows_per_zone_;
    mutable std::mutex mutex_;
    std::vector<SeenRows> zones_;
    int64_t num_known_ = 0;
    KeyBounds sampled_;  // of all samples together
    int64_t num_unlikely_ = 0;
    std::atomic<int64_t> decided_rows_ = -1;  // that are left; nothing was decided below 0
};

// The key of a string: its first eight bytes as a number, padded with zeros; left: readable bytes.
uint64_t string_key(const uint8_t* data, int64_t length, int64_t left);

// The bounds of the values of an Arrow array between edges, ascending positions in it; one for each pair of neighbours.
std::vector<KeyBounds> bound_runs(ValueOrder order, int64_t num_bits, Bytes values, std::optional<Bytes> validity,
                                  int64_t offset, const std::vector<int64_t>& edges);

// Observes values as they are decoded. They count only after `finish`, all of them or none.
class ZoneObserver {
  public:
    explicit ZoneObserver(ZoneBounds& zones);

    ValueOrder order() const { return zones_.order(); }
    int64_t num_bits() const { return zones_.num_bits(); }
    // Whether one of the rows is in a zone that is not known.
    bool wants(int64_t row, int64_t count) const;
    // levels: u16 for each value, 0 if it is not NULL; null without NULLs. Returns the bounds of all of these values;
    // nothing if some were skipped because their zone is complete.
    std::optional<KeyBounds> add(int64_t row, const uint8_t* values, const uint8_t* levels, int64_t count);
    // For rows that all have one value; null for NULL.
    void add_constant(int64_t row, const uint8_t* value, int64_t count);
    // For values in an Arrow array; validity: from bit `offset` on
    void add_array(int64_t row, Bytes values, std::optional<Bytes> validity, int64_t offset, int64_t count);
    // For strings, whose keys are their first eight bytes; offsets: those of the first string and of the ends of all
    void add_strings(int64_t row, Bytes offsets, int64_t offset_bits, Bytes data, std::optional<Bytes> validity,
                     int64_t offset, int64_t count);
    // Refuses zones whose keys are not those of strings.
    void require_strings() const;
    // Whether the rows around those that were added are worth looking at; in the place of `finish`.
    bool is_worth_learning() const;
    void finish();

  private:
    SeenRows& run(int64_t row, int64_t count);
    // Calls visit(first, count) for the parts of rows in each zone that is not complete.
    template <class Visit>
    void for_each_zone(int64_t row, int64_t count, Visit visit) const;

    ZoneBounds& zones_;
    const std::vector<uint8_t> known_;
    BoundKeys bound_keys_;
    std::vector<SeenRows> runs_;
};

}  // namespace lance
