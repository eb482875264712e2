// FSST: strings as codes of a symbol table.
#include <algorithm>

#include "encodings/fsst_symbols.h"
#include "encodings/variable.h"

namespace lance {

namespace {

// Encodes values a symbol at a time. Several runs of them take turns: the next symbol is known only after the previous
// one is found, and the processor finds those of other runs meanwhile.
template <class Offset>
class Encoder {
  public:
    static constexpr int64_t kWidth = sizeof(Offset);

    // State of one run. Passed by value: bytes written through a pointer might alias anything with an address.
    struct Run {
        const uint8_t* at;
        const uint8_t* end;  // of the value
        uint8_t* out;
        uint8_t* start;
        int64_t value;
        int64_t last;

        bool done() const { return value == last; }
        int64_t num_bytes() const { return out - start; }
    };

    Encoder(const Matcher& matcher, Bytes offsets, Bytes data, uint8_t* out_offsets)
        : matcher_(matcher),
          offsets_(offsets.data()),
          data_(data.data()),
          out_offsets_(out_offsets),
          last_word_(data.size() < 8 ? nullptr : data.data() + data.size() - 8) {}

    // out: room for twice the bytes of the values
    Run run(int64_t first, int64_t last, uint8_t* out) const {
        return begin_value({nullptr, nullptr, out, out, first, last});
    }

    // Not for a run that is done.
    [[gnu::always_inline]] Run step(Run run) const {
        const int64_t room = run.end - run.at;
        if (room == 0 || run.at > last_word_) [[unlikely]]
            return finish_value(run);
        // the bytes of the next value do not count
        const int64_t unused = 64 - 8 * std::min<int64_t>(room, 8);
        const Matcher::Match match = matcher_.next(load<uint64_t>(run.at) << unused >> unused);
        if (match.length() > room) [[unlikely]]
            return finish_value(run);
        return put(run, match);
    }

  private:
    // Both bytes are written; the second one counts only after an escape.
    static Run put(Run run, Matcher::Match match) {
        run.out[0] = match.code();
        run.out[1] = *run.at;
        run.out += 1 + (match.code() == kEscape);
        run.at += match.length();
        return run;
    }

    Run begin_value(Run run) const {
        if (run.done()) return run;
        const uint8_t* at = offsets_ + run.value * kWidth;
        run.at = data_ + load<Offset>(at);
        run.end = data_ + load<Offset>(at + kWidth);
        return run;
    }

    [[gnu::noinline]] Run finish_value(Run run) const {
        while (run.at < run.end) run = put(run, matcher_.next(word_at(run.at, run.end), run.end - run.at));
        if (run.num_bytes() > max_offset<Offset>) fail("codes of more than ", max_offset<Offset>, " bytes");
        ++run.value;
        store(out_offsets_ + run.value * kWidth, static_cast<Offset>(run.num_bytes()));
        return begin_value(run);
    }

    const Matcher& matcher_;
    const uint8_t* offsets_;
    const uint8_t* data_;
    uint8_t* out_offsets_;
    const uint8_t* last_word_;
};

template <class Offset>
int64_t encode(Bytes offsets, int64_t num_values, Bytes data, const Matcher& matcher, MutableBytes out_offsets,
               MutableBytes out) {
    constexpr int64_t width = sizeof(Offset);
    check_offsets<Offset>(offsets, num_values, size_of(data));
    require_output(out_offsets, (num_values + 1) * width, "out_offsets");
    const auto offset = [&](int64_t i) { return static_cast<int64_t>(load<Offset>(offsets.data() + i * width)); };
    require_output(out, 2 * (offset(num_values) - offset(0)));

    const Encoder<Offset> encoder(matcher, offsets, data, out_offsets.data());
    const auto first = [&](int part) { return num_values * part / 4; };
    const auto run = [&](int part) {
        return encoder.run(first(part), first(part + 1), out.data() + 2 * (offset(first(part)) - offset(0)));
    };
    auto a = run(0), b = run(1), c = run(2), d = run(3);
    while (!a.done() && !b.done() && !c.done() && !d.done()) {
        a = encoder.step(a);
        b = encoder.step(b);
        c = encoder.step(c);
        d = encoder.step(d);
    }
    store(out_offsets.data(), Offset{0});
    int64_t total = 0;
    int part = 0;
    for (auto rest : {a, b, c, d}) {
        while (!rest.done()) rest = encoder.step(rest);
        if (rest.num_bytes() > 0) std::memmove(out.data() + total, rest.start, static_cast<size_t>(rest.num_bytes()));
        if (total + rest.num_bytes() > max_offset<Offset>) fail("codes of more than ", max_offset<Offset>, " bytes");
        for (int64_t i = first(part) + 1; i <= first(part + 1); ++i) {
            uint8_t* at = out_offsets.data() + i * width;
            store(at, static_cast<Offset>(load<Offset>(at) + static_cast<Offset>(total)));
        }
        total += rest.num_bytes();
        ++part;
    }
    return total;
}

}  // namespace

int64_t fsst_encode(Bytes offsets, int64_t offset_bits, int64_t num_values, Bytes data, Bytes symbol_table,
                    MutableBytes out_offsets, MutableBytes out) {
    const Matcher matcher = read_symbols(symbol_table);
    return with_offset(offset_bits, [&](auto offset) {
        return encode<decltype(offset)>(offsets, num_values, data, matcher, out_offsets, out);
    });
}

}  // namespace lance
