// Bytes are checked character by character, and eight at a time as long as they are ASCII.
#include "system/utf8.h"

namespace lance {

namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;

}  // namespace

bool is_utf8(Bytes text) {
    const uint8_t* at = text.data();
    const uint8_t* end = at + text.size();
    while (at != end) {
        if (end - at >= 8 && (load<uint64_t>(at) & kHighBits) == 0) {
            at += 8;
            continue;
        }
        const uint8_t lead = *at++;
        if (lead < 0x80) continue;
        const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        if (lead < 0xC2 || lead > 0xF4 || end - at < more) return false;
        const uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (*at < least || *at > most) return false;
        for (int i = 1; i < more; ++i) {
            if (at[i] < 0x80 || at[i] > 0xBF) return false;
        }
        at += more;
    }
    return true;
}

}  // namespace lance
