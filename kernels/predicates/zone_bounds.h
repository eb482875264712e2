// What is known of the values of a column, zone by zone: the bounds of their keys, NULLs and NaN.
//
//     rows   |  zone 0  |  zone 1  |  zone 2  |     rows_per_zone rows each
//     seen   [----------------)  [------------)     a zone is known once all of its rows were seen
//
// Rows come in runs, in any order and from several threads; runs that meet inside of a zone become one.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "predicates/filter_loops.h"

namespace lance {

// Before a process forks, after it in the parent, and in the child: no thread is inside of bounds meanwhile.
void hold_zone_bounds();
void release_zone_bounds();
void renew_zone_bounds();
// Whether the process does not fork now.
bool are_zone_bounds_free();

// What is known of rows [start, end) of a zone.
struct SeenRows {
    int64_t start = 0;
    int64_t end = 0;
    KeyBounds keys;
};

class ZoneBounds {
  public:
    // num_bits: of a value; of 128 only the keys that 64 bits hold are told apart
    ZoneBounds(ValueOrder order, int64_t num_bits, int64_t num_rows, int64_t rows_per_zone);

    ValueOrder order() const { return order_; }
    int64_t num_bits() const { return num_bits_; }
    int64_t num_rows() const { return num_rows_; }
    int64_t rows_per_zone() const { return rows_per_zone_; }
    int64_t num_zones() const { return static_cast<int64_t>(zones_.size()); }

    // Which no other bounds of the process have or will have.
    uint64_t number() const { return number_; }

    // The zones of which all rows were seen.
    std::vector<uint8_t> known() const;
    int64_t num_known() const;
    std::vector<SeenRows> zones() const;

    // Adds runs of rows, each inside of one zone.
    void add(const std::vector<SeenRows>& runs);

    // Whether rows are worth looking at, by some of them: where values lie anywhere, bounds of zones rule out little.
    // Such rows are worth it once in a while, so that all are known in the end.
    bool is_worth_learning(const std::vector<SeenRows>& samples);

    // All rows of a batch have passed a test: bounds would have told. From now on any rows are worth learning, until
    // all of them were looked at twice: some zones have rows that are never read.
    void note_decided();
    // Whether that holds for so many rows more.
    bool takes_decided(int64_t num_rows);

  private:
    int64_t end_of(int64_t zone) const { return std::min((zone + 1) * rows_per_zone_, num_rows_); }
    bool is_known(int64_t zone) const;
    // How far apart the bounds are, which are not those of no values.
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

// The key of a string: its first eight bytes as a number, with zeros behind a shorter one; left: bytes that may be
// read.
uint64_t string_key(const uint8_t* data, int64_t length, int64_t left);

// The bounds of the values of an Arrow array between edges, ascending positions in it; one for each pair of neighbours.
std::vector<KeyBounds> bound_runs(ValueOrder order, int64_t num_bits, Bytes values, std::optional<Bytes> validity,
                                  int64_t offset, const std::vector<int64_t>& edges);

// Takes values as they are decoded. What it has seen counts once `finish` was called, all of it or nothing.
class ZoneObserver {
  public:
    explicit ZoneObserver(ZoneBounds& zones);

    ValueOrder order() const { return zones_.order(); }
    int64_t num_bits() const { return zones_.num_bits(); }
    // Whether one of the rows is in a zone that is not known.
    bool wants(int64_t row, int64_t count) const;
    // levels: u16 for each value, 0 where it is not NULL; null without NULLs. Returns the bounds of all of these
    // values; nothing where some are in a zone that is known, and were passed over.
    std::optional<KeyBounds> add(int64_t row, const uint8_t* values, const uint8_t* levels, int64_t count);
    // The same for rows that all have one value; null for NULL.
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
    // Calls visit(first, count) for the parts of rows that lie in one zone each, if it is not known.
    template <class Visit>
    void for_each_zone(int64_t row, int64_t count, Visit visit) const;

    ZoneBounds& zones_;
    const std::vector<uint8_t> known_;
    BoundKeys bound_keys_;
    std::vector<SeenRows> runs_;
};

}  // namespace lance
