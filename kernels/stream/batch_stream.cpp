// The order in which batches are decoded, and what happens when a consumer stops.
#include "stream/batch_stream.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <stdexcept>
#include <utility>

#include "arrow/arrow_node.h"
#include "system/decode_threads.h"

namespace lance {

namespace {

// If fewer than one row in this many passes, a batch costs as much as its rows.
constexpr int64_t kFewPassing = 16;

}  // namespace

// Batches that are wanted as one, until that is taken or given up.
class BatchSlot {
  public:
    BatchSlot(std::shared_ptr<const FragmentRows> fragment, int64_t first, int64_t end,
              std::shared_ptr<RecentShare> passed)
        : num_rows_(fragment->num_rows(first, end)),
          fragment_(std::move(fragment)),
          first_(first),
          end_(end),
          passed_(std::move(passed)) {}
    explicit BatchSlot(ArrowArray batch) : num_rows_(batch.length), state_(kDone), batch_(batch) {}
    BatchSlot(const BatchSlot&) = delete;
    BatchSlot& operator=(const BatchSlot&) = delete;
    ~BatchSlot() { release(); }

    // Before any is tested, unless they come decoded.
    int64_t num_rows() const { return num_rows_; }

    // By whichever thread comes first.
    void run() noexcept {
        int expected = kWanted;
        if (!state_.compare_exchange_strong(expected, kRunning)) return;
        try {
            batch_ = fragment_->read(first_, end_);
            passed_->add(num_rows_, batch_ ? batch_->length : 0);
        } catch (const PageFailure& failure) {
            failure_ = failure;
        } catch (...) {
            error_ = std::current_exception();
        }
        finish();
    }

    // The result. The consumer releases the fragment here: its memory may belong to Python.
    std::optional<ArrowArray> take(BatchSource& source) {
        run();
        wait();
        const std::shared_ptr<const FragmentRows> fragment = std::exchange(fragment_, nullptr);
        if (failure_) source.raise(*fragment, *failure_);
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        return std::exchange(batch_, std::nullopt);
    }

    // Everything is released, so that the last thread that drops it has nothing to release.
    void give_up() noexcept {
        int expected = kWanted;
        if (!state_.compare_exchange_strong(expected, kDone)) wait();
        fragment_ = nullptr;
        error_ = nullptr;
        release();
    }

  private:
    enum State { kWanted, kRunning, kDone };

    void release() noexcept {
        if (batch_) batch_->release(&*batch_);
        batch_.reset();
    }

    void finish() noexcept {
        {
            const std::lock_guard lock(mutex_);
            state_ = kDone;
        }
        is_done_.notify_all();
    }

    void wait() noexcept {
        std::unique_lock lock(mutex_);
        is_done_.wait(lock, [this] { return state_ == kDone; });
    }

    int64_t num_rows_;
    std::atomic<int> state_ = kWanted;
    std::shared_ptr<const FragmentRows> fragment_;
    int64_t first_ = 0;
    int64_t end_ = 0;
    std::shared_ptr<RecentShare> passed_;
    std::optional<ArrowArray> batch_;
    std::optional<PageFailure> failure_;
    std::exception_ptr error_;
    std::mutex mutex_;
    std::condition_variable is_done_;
};

namespace {

std::shared_ptr<BatchSlot> decoded_slot(ArrowArray& batch) {
    try {
        return std::make_shared<BatchSlot>(batch);
    } catch (...) {
        batch.release(&batch);
        throw;
    }
}

}  // namespace

void RecentShare::add(int64_t num_rows, int64_t num_passed) {
    const std::lock_guard lock(mutex_);
    num_rows_ = num_rows_ / 2 + num_rows;
    num_passed_ = num_passed_ / 2 + num_passed;
}

bool RecentShare::is_small() const {
    const std::lock_guard lock(mutex_);
    return num_passed_ < num_rows_ / kFewPassing;
}

int64_t RecentShare::of(int64_t num_rows) const {
    const std::lock_guard lock(mutex_);
    if (num_rows_ == 0) return num_rows;
    return static_cast<int64_t>(static_cast<double>(num_rows) * static_cast<double>(num_passed_) /
                                static_cast<double>(num_rows_));
}

BatchStream::BatchStream(std::unique_ptr<BatchSource> source, int64_t most_ahead, bool eager, int64_t most_rows)
    : process_(process_number()),
      source_(std::move(source)),
      most_ahead_(static_cast<size_t>(std::max<int64_t>(most_ahead, 1))),
      window_(eager ? most_ahead_ : 1),
      most_rows_(most_rows),
      passed_(std::make_shared<RecentShare>()) {}

BatchStream::~BatchStream() {
    const InsideStream inside;
    // The threads that were at work on its batches are the parent's.
    if (process_ != process_number()) {
        for (std::shared_ptr<BatchSlot>& slot : pending_) new std::shared_ptr<BatchSlot>(std::move(slot));
        return;
    }
    drop();
}

std::optional<ArrowArray> BatchStream::next() {
    const InsideStream inside;
    if (process_ != process_number()) throw std::runtime_error("a stream that was begun before the process was forked");
    const std::lock_guard lock(consumer_);
    if (has_failed_) throw std::runtime_error("a stream that has failed before");
    try {
        for (;;) {
            if (most_rows_ == 0) return std::nullopt;
            if (has_decoding_stopped()) throw std::runtime_error("a stream that is read while Python ends");
            fill();
            if (pending_.empty() && failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
            if (pending_.empty()) return std::nullopt;
            const std::shared_ptr<BatchSlot> slot = std::move(pending_.front());
            pending_.pop_front();
            std::optional<ArrowArray> batch = slot->take(*source_);
            // A consumer that calls again wants the rest as well.
            if (batch) {
                window_ = most_ahead_;
                give_out(*batch);
                return batch;
            }
            window_ = std::min(2 * window_, most_ahead_);
        }
    } catch (...) {
        has_failed_ = true;
        drop();
        throw;
    }
}

void BatchStream::fill() {
    try {
        push_more();
    } catch (...) {
        // The batches before come first.
        has_ended_ = true;
        failure_ = std::current_exception();
    }
}

void BatchStream::push_more() {
    while (pending_.size() < window_ && !has_ended_ && (pending_.empty() || num_missing() > 0)) {
        if (fragment_ && next_batch_ < fragment_->num_batches()) {
            const int64_t end = passed_->is_small() ? end_of_joined(next_batch_) : next_batch_ + 1;
            push(std::make_shared<BatchSlot>(fragment_, std::exchange(next_batch_, end), end, passed_), false);
            continue;
        }
        fragment_ = nullptr;
        // Batches that come decoded are read ahead elsewhere.
        if (was_decoded_ && !pending_.empty()) return;
        BatchSource::Next item = source_->next(pending_.empty());
        if (std::holds_alternative<BatchSource::NotYet>(item)) return;
        if (auto* batch = std::get_if<ArrowArray>(&item)) {
            was_decoded_ = true;
            push(decoded_slot(*batch), true);
        } else if (auto* fragment = std::get_if<std::shared_ptr<const FragmentRows>>(&item)) {
            was_decoded_ = false;
            fragment_ = std::move(*fragment);
            next_batch_ = 0;
        } else {
            has_ended_ = true;
        }
    }
}

// How many rows batches must have beside those that are pending, by the share that has passed before.
int64_t BatchStream::num_missing() const {
    int64_t num_rows = 0;
    for (const std::shared_ptr<BatchSlot>& slot : pending_) num_rows += slot->num_rows();
    return most_rows_ - passed_->of(num_rows);
}

// The end of batches that are read as one: no more of them than are likely to have the rows that are missing.
int64_t BatchStream::end_of_joined(int64_t first) const {
    int64_t end = fragment_->end_of_joined(first);
    while (end > first + 1 && passed_->of(fragment_->num_rows(first, end - 1)) >= num_missing()) --end;
    return end;
}

// Behind the last row nothing is read.
void BatchStream::give_out(ArrowArray& batch) {
    if (batch.length >= most_rows_) {
        drop();
        source_ = nullptr;
        try {
            cut(batch, most_rows_);
        } catch (...) {
            batch.release(&batch);
            throw;
        }
    }
    most_rows_ -= batch.length;
}

void BatchStream::push(std::shared_ptr<BatchSlot> slot, bool is_decoded) {
    pending_.push_back(slot);
    // The consumer takes the first one at once.
    if (!is_decoded && pending_.size() > 1) decode_ahead([slot = std::move(slot)] { slot->run(); });
}

void BatchStream::stop() noexcept {
    if (process_ == process_number()) drop();
}

void BatchStream::drop() noexcept {
    has_ended_ = true;
    for (const std::shared_ptr<BatchSlot>& slot : pending_) slot->give_up();
    pending_.clear();
    fragment_ = nullptr;
}

}  // namespace lance
