// Work in turns that the calling thread shares with decode threads, as far as these have nothing else to do.
#pragma once

#include <cstddef>
#include <functional>

namespace lance {

// Does one turn; `worker` numbers those that are at work, from 0 on, and is below `num_helpers` + 1. False: no turn is
// begun any more.
using Turn = std::function<bool(size_t turn, size_t worker)>;

// Does the turns 0 to num_turns - 1, each once, by this thread and at most this many others. Returns after all have
// finished: false if a turn returned false. Rethrows the exception of the first failing turn.
bool share_work(size_t num_turns, size_t num_helpers, Turn turn);

}  // namespace lance
