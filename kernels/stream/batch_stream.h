// Batches of rows as a stream: decoded ahead by threads, in order and in bounded number.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "stream/fragment_rows.h"

namespace lance {

// Source of batches: fragments to read, and batches that were read elsewhere. Called by one thread at a time.
class BatchSource {
  public:
    struct NotYet {};  // more will come; a caller that does not wait calls again later
    using Next = std::variant<std::monostate, std::shared_ptr<const FragmentRows>, ArrowArray, NotYet>;

    virtual ~BatchSource() = default;
    // may_wait: if false, returns NotYet while a remote store has not answered.
    virtual Next next(bool may_wait) = 0;
    // Throws what a failure of the fragment is called.
    [[noreturn]] virtual void raise(const FragmentRows& fragment, const PageFailure& failure) = 0;
};

class BatchSlot;

// The share of recently read rows that passed the filter of a stream. Thread-safe.
class RecentShare {
  public:
    void add(int64_t num_rows, int64_t num_passed);
    bool is_small() const;
    // How many of some rows pass, by that share; all where nothing is known.
    int64_t of(int64_t num_rows) const;

  private:
    mutable std::mutex mutex_;
    int64_t num_rows_ = 0;
    int64_t num_passed_ = 0;
};

class BatchStream {
  public:
    // most_ahead: batches that are decoded or wait to be taken; eager: from the first one on; most_rows: of the stream
    BatchStream(std::unique_ptr<BatchSource> source, int64_t most_ahead, bool eager, int64_t most_rows);
    BatchStream(const BatchStream&) = delete;
    BatchStream& operator=(const BatchStream&) = delete;
    ~BatchStream();

    // The next batch, a struct; nothing at the end. Throws what the source does.
    std::optional<ArrowArray> next();

    // Gives up what is pending; no batch comes after it.
    void stop() noexcept;

  private:
    void fill();
    void push_more();
    int64_t num_missing() const;
    int64_t end_of_joined(int64_t first) const;
    void give_out(ArrowArray& batch);
    void push(std::shared_ptr<BatchSlot> slot, bool is_decoded);
    void drop() noexcept;

    std::mutex consumer_;
    uint64_t process_;
    std::unique_ptr<BatchSource> source_;
    size_t most_ahead_;
    size_t window_;
    int64_t most_rows_;  // that are still to be given out
    std::shared_ptr<RecentShare> passed_;
    std::deque<std::shared_ptr<BatchSlot>> pending_;
    std::shared_ptr<const FragmentRows> fragment_;  // of which batches are pushed
    int64_t next_batch_ = 0;
    bool was_decoded_ = false;    // the last one that the source gave
    bool has_ended_ = false;      // the source has nothing more
    std::exception_ptr failure_;  // of the source, after the pending batches
    bool has_failed_ = false;
};

}  // namespace lance
