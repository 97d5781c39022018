# ---- C++'s arithmetic, as the launcher's host code has it -----------------------------------------------------------
class LaunchError(RuntimeError):
    """The launcher cannot be run for these sizes."""


def refuse(message, line):
    raise LaunchError(f"{message} (line {line} of the kernel file)")


def _checked(bits):
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def check(value):
        if not low <= value <= high:
            raise LaunchError(f"signed integer overflow: {value} does not fit {bits} bits")
        return value

    return check


def _wrapped(bits, signed):
    mask, half = (1 << bits) - 1, 1 << (bits - 1)

    def wrap(value):
        if isinstance(value, float):
            value = math.trunc(value)  # what does not fit is undefined in C++
            if not (-half <= value < half if signed else 0 <= value <= mask):
                raise LaunchError(f"the value {value} does not fit {bits} bits")
        value &= mask
        return value - mask - 1 if signed and value >= half else value

    return wrap


i32, i64 = _checked(32), _checked(64)
u32, u64 = _wrapped(32, False), _wrapped(64, False)
to_i8, to_i16, to_i32, to_i64 = (_wrapped(bits, True) for bits in (8, 16, 32, 64))
to_u8, to_u16, to_u32, to_u64 = (_wrapped(bits, False) for bits in (8, 16, 32, 64))


def to_bool(value):
    return 1 if value else 0


def div(a, b):
    if b == 0:
        raise LaunchError("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rem(a, b):
    return a - div(a, b) * b


def _shift_count(count, bits):
    if not 0 <= count < bits:
        raise LaunchError(f"a shift of {bits} bits by {count}")
    return count


def shl(a, count, bits):
    return a << _shift_count(count, bits)


def shr(a, count, bits):
    return a >> _shift_count(count, bits)


def fdiv(a, b):
    if b == 0:
        raise LaunchError("division by zero")
    return a / b


def _exact_float(value):
    # A large integer would be rounded twice on its way to 32 bits: 30 bits and a sticky one are enough.
    if isinstance(value, int) and value.bit_length() > 53:
        shift = abs(value).bit_length() - 30
        sign = -1 if value < 0 else 1
        kept = abs(value) >> shift
        value = sign * ((kept << 1 | (1 if abs(value) & ((1 << shift) - 1) else 0)) << (shift - 1))
    return float(value)


def f32(value):
    value = _exact_float(value)
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def f16(value):
    value = float(value)
    try:
        return struct.unpack("<e", struct.pack("<e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _bf16_bits(value):
    # To nearest even, from the double at once.
    if math.isnan(value):
        return 0x7FFF
    if math.isinf(value) or value == 0:
        return (0x8000 if math.copysign(1.0, value) < 0 else 0) | (0x7F80 if math.isinf(value) else 0)
    _, exponent = math.frexp(value)
    unit = math.ldexp(1.0, max(exponent - 8, -133))
    rounded = round(value / unit) * unit  # Python's round goes to even
    return struct.unpack("<I", struct.pack("<f", f32(rounded)))[0] >> 16


def bf16(value):
    return struct.unpack("<f", struct.pack("<I", _bf16_bits(float(value)) << 16))[0]


def c_math(name, *values):
    if name in ("ceil", "floor", "trunc", "round") and not math.isfinite(values[0]):
        return values[0]
    if name == "round":  # half away from zero
        return math.copysign(math.floor(abs(values[0]) + 0.5), values[0])
    if name in ("ceil", "floor", "trunc"):
        return float(getattr(math, name)(values[0]))
    if name == "exp2":
        return 2.0 ** values[0]
    if name == "cbrt":
        return math.copysign(abs(values[0]) ** (1.0 / 3.0), values[0])
    if name in ("fmin", "fmax"):
        return (min if name == "fmin" else max)(values)
    return float(getattr(math, name)(*values))


def clz(value):
    if value == 0:
        raise LaunchError("__builtin_clz of 0")
    return 32 - value.bit_length()


def ctz(value):
    if value == 0:
        raise LaunchError("__builtin_ctz of 0")
    return (value & -value).bit_length() - 1


def popcount(value):
    return bin(value).count("1")


class Record:
    """A struct of the launcher: its fields, copied when it is passed by value."""

    __slots__ = ()

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values):
            setattr(self, name, value)

    def copy(self):
        return type(self)(*(_copied(getattr(self, name)) for name in self.__slots__))

    def assign(self, other):
        for name in self.__slots__:
            setattr(self, name, _copied(getattr(other, name)))


class dim3(Record):
    __slots__ = ("x", "y", "z")


class Array(list):
    """An array of the launcher; a variable whose address is taken is one with a single element."""

    def __getitem__(self, index):
        return list.__getitem__(self, self._inside(index))

    def __setitem__(self, index, value):
        list.__setitem__(self, self._inside(index), value)

    def _inside(self, index):
        if not 0 <= index < len(self):
            raise LaunchError(f"element {index} of an array of {len(self)}")
        return index

    def copy(self):
        return Array(_copied(value) for value in self)

    def pointers(self):
        return [Pointer(self, index) for index in range(len(self))]


def _copied(value):
    return value.copy() if isinstance(value, (Record, Array)) else value


class Pointer:
    """A pointer to a variable of the launcher, or to an element of an array."""

    __slots__ = ("cells", "index")

    def __init__(self, cells, index):
        self.cells, self.index = cells, index

    @property
    def value(self):
        return self.cells[self.index]

    @value.setter
    def value(self, value):
        if isinstance(value, Record):
            self.cells[self.index].assign(value)
        else:
            self.cells[self.index] = value


class FieldPointer:
    __slots__ = ("record", "name")

    def __init__(self, record, name):
        self.record, self.name = record, name

    @property
    def value(self):
        return getattr(self.record, self.name)

    @value.setter
    def value(self, value):
        setattr(self.record, self.name, value)


class DevicePointer:
    """Device memory: which buffer, and how far into it."""

    __slots__ = ("buffer", "offset")

    def __init__(self, buffer, offset):
        self.buffer, self.offset = buffer, offset

    def __bool__(self):
        return self.buffer >= 0

    @property
    def value(self):
        raise LaunchError("the launcher reads or writes device memory on the host")


NULL = DevicePointer(-1, 0)


def plus(pointer, count, size):
    if isinstance(pointer, DevicePointer):
        if not pointer and count:
            raise LaunchError("arithmetic on a null pointer")
        return DevicePointer(pointer.buffer, pointer.offset + count * size)
    index = pointer.index + count
    if not 0 <= index <= len(pointer.cells):
        raise LaunchError("a pointer leaves its array")
    return Pointer(pointer.cells, index)


def distance(a, b, size):
    if isinstance(a, DevicePointer):
        if a.buffer != b.buffer:
            raise LaunchError("pointers into different buffers are compared or subtracted")
        return div(a.offset - b.offset, size)
    if a.cells is not b.cells:
        raise LaunchError("pointers into different arrays are subtracted")
    return a.index - b.index


def same(a, b):
    if isinstance(a, DevicePointer) and isinstance(b, DevicePointer):
        return (a.buffer, a.offset) == (b.buffer, b.offset)
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.cells is b.cells and a.index == b.index
    return a is b


def address(pointer):
    # Buffers stand far apart; their own addresses are multiples of 256, which is checked before a launch.
    return (pointer.buffer + 1) * (1 << 40) + pointer.offset
