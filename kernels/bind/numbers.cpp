// Binds the enumerations that Python shares as enum.IntEnum.
#include "bind/shared_numbers.h"

namespace lance {

namespace {

template <class E>
void bind(nb::module_& m) {
    nb::enum_<E> bound(m, Shared<E>::kName, nb::is_arithmetic());
    for (const Member<E>& each : Shared<E>::kMembers) bound.value(each.name, each.value);
}

}  // namespace

void bind_numbers(nb::module_& m) {
    bind<Compression>(m);
    bind<FragmentColumn>(m);
    bind<IpcCodec>(m);
    bind<LevelCodec>(m);
    bind<LevelKind>(m);
    bind<Metric>(m);
    bind<NamedKind>(m);
    bind<Outcome>(m);
    bind<SequenceForm>(m);
    bind<ShapeKind>(m);
    bind<Splitting>(m);
    bind<ValueCodec>(m);
    bind<ValueOrder>(m);
}

}  // namespace lance
