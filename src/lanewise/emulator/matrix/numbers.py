"""Functions in LLVM IR that move fragments (elements in the registers of 32 lanes) to matrices in memory and back.

`@lw_place_T(ptr register, ptr matrix, i64 pitch)` takes one register of all lanes. Lane 4 g + t holds the elements that
follow each other along one dimension, as many as fit: element p goes to `matrix[(t * parts + p) * pitch + g]`. Floating
types become doubles, which hold all of them; integers i32. `@lw_take_T` is the way back.
"""

from __future__ import annotations

from lanewise.emulator.moving import lane_vector

# Lane 4 g + t of a register is element 8 t + g here: those of one t are neighbours.
BY_COLUMN = [4 * (place % 8) + place // 8 for place in range(32)]
BY_LANE = [8 * (lane % 4) + lane // 4 for lane in range(32)]
PARTS = {"f16": 2, "bf16": 2, "tf32": 1, "f32": 1, "e4m3": 4, "e5m2": 4, "s8": 4, "u8": 4, "s4": 8, "u4": 8, "b1": 1,
         "s32": 1, "f64": 1}  # fmt: skip


def _is_integer(kind: str) -> bool:
    return kind[0] in "sub" and kind != "bf16"


def element(kind: str) -> str:
    """How a matrix of the type is kept in memory."""
    return "i32" if _is_integer(kind) else "double"


def _part(kind: str, part: int) -> str:
    """Element `part` of each lane's register %r (<32 x i32>), as %v<part> of 32 doubles or i32."""
    v = f"%v{part}"
    if kind in ("tf32", "f32", "s32", "b1", "f64"):
        if kind == "f64":
            return f"  {v} = bitcast <32 x i64> %r to <32 x double>\n"
        if kind in ("s32", "b1"):
            return f"  {v} = or <32 x i32> %r, zeroinitializer\n"
        kept = f"  %k = and <32 x i32> %r, splat (i32 {-1 << 13 if kind == 'tf32' else -1})\n"
        return kept + f"  %f = bitcast <32 x i32> %k to <32 x float>\n  {v} = fpext <32 x float> %f to <32 x double>\n"
    if kind == "bf16":
        shift = f"shl <32 x i32> %r, splat (i32 {16 if part == 0 else 0})"
        return (
            f"  %w{part} = {shift}\n  %x{part} = and <32 x i32> %w{part}, splat (i32 -65536)\n"
            f"  %f{part} = bitcast <32 x i32> %x{part} to <32 x float>\n"
            f"  {v} = fpext <32 x float> %f{part} to <32 x double>\n"
        )
    bits = 32 // PARTS[kind]
    if _is_integer(kind):
        return (
            f"  %w{part} = shl <32 x i32> %r, splat (i32 {32 - bits * (part + 1)})\n"
            f"  {v} = {'ashr' if kind[0] == 's' else 'lshr'} <32 x i32> %w{part}, splat (i32 {32 - bits})\n"
        )
    head = f"  %w{part} = lshr <32 x i32> %r, splat (i32 {bits * part})\n"
    if kind == "f16":
        text = head + f"  %h{part} = trunc <32 x i32> %w{part} to <32 x i16>\n"
    elif kind == "e5m2":  # the upper half of an f16
        text = head + (
            f"  %b{part} = trunc <32 x i32> %w{part} to <32 x i16>\n"
            f"  %h{part} = shl <32 x i16> %b{part}, splat (i16 8)\n"
        )
    else:  # e4m3 in the place of an f16 is too small by 2^8; its only NaN is a number there
        text = head + (
            f"  %b{part} = trunc <32 x i32> %w{part} to <32 x i16>\n"
            f"  %l{part} = and <32 x i16> %b{part}, splat (i16 127)\n"
            f"  %m{part} = shl <32 x i16> %l{part}, splat (i16 7)\n"
            f"  %s{part} = shl <32 x i16> %b{part}, splat (i16 8)\n"
            f"  %t{part} = and <32 x i16> %s{part}, splat (i16 -32768)\n"
            f"  %h{part} = or <32 x i16> %m{part}, %t{part}\n"
            f"  %n{part} = icmp eq <32 x i16> %l{part}, splat (i16 127)\n"
        )
    text += (
        f"  %i{part} = bitcast <32 x i16> %h{part} to <32 x half>\n"
        f"  %f{part} = fpext <32 x half> %i{part} to <32 x float>\n"
    )
    if kind != "e4m3":
        return text + f"  {v} = fpext <32 x float> %f{part} to <32 x double>\n"
    return text + (
        f"  %d{part} = fpext <32 x float> %f{part} to <32 x double>\n"
        f"  %u{part} = fmul <32 x double> %d{part}, splat (double 256.0)\n"
        f"  {v} = select <32 x i1> %n{part}, <32 x double> splat (double 0x7FF8000000000000), "
        f"<32 x double> %u{part}\n"
    )


def _eight(t: int) -> str:
    return lane_vector("i32", range(8 * t, 8 * t + 8))


def place(kind: str) -> str:
    """`@lw_place_<kind>`."""
    into, word = element(kind), "i64" if kind == "f64" else "i32"
    order = lane_vector("i32", BY_COLUMN)
    text = f"""
define internal void @lw_place_{kind}(ptr %register, ptr %matrix, i64 %pitch) noinline nounwind {{
  %lanes = load <32 x {word}>, ptr %register, align 64
  %r = shufflevector <32 x {word}> %lanes, <32 x {word}> poison, <32 x i32> {order}
"""
    for part in range(PARTS[kind]):
        text += _part(kind, part)
        for t in range(4):
            name = f"{part}_{t}"
            text += f"""  %e{name} = shufflevector <32 x {into}> %v{part}, <32 x {into}> poison, <8 x i32> {_eight(t)}
  %o{name} = mul i64 %pitch, {t * PARTS[kind] + part}
  %p{name} = getelementptr {into}, ptr %matrix, i64 %o{name}
  store <8 x {into}> %e{name}, ptr %p{name}, align 8
"""
    return text + "  ret void\n}\n"


def _join(kind: str, part: int, parts: int) -> str:
    """Load %v<part>, 32 elements in the order of columns."""
    text = ""
    for t in range(4):
        name = f"{part}_{t}"
        text += f"""  %o{name} = mul i64 %pitch, {t * parts + part}
  %p{name} = getelementptr {kind}, ptr %matrix, i64 %o{name}
  %e{name} = load <8 x {kind}>, ptr %p{name}, align 8
"""
    sixteen = lane_vector("i32", range(16))
    for half, (a, b) in enumerate(((0, 1), (2, 3))):
        text += (
            f"  %j{part}_{half} = shufflevector <8 x {kind}> %e{part}_{a}, <8 x {kind}> %e{part}_{b}, "
            f"<16 x i32> {sixteen}\n"
        )
    return text + (
        f"  %v{part} = shufflevector <16 x {kind}> %j{part}_0, <16 x {kind}> %j{part}_1, "
        f"<32 x i32> {lane_vector('i32', range(32))}\n"
    )


def take(kind: str) -> str:
    """`@lw_take_<kind>(ptr matrix, ptr register, i64 pitch)`: f32, f16, f64, s32. What is no number becomes the NaN
    that tensor cores give (`NAN`)."""
    into, word = element(kind), "i64" if kind == "f64" else "i32"
    parts = PARTS[kind]
    text = f"\ndefine internal void @lw_take_{kind}(ptr %matrix, ptr %register, i64 %pitch) noinline nounwind {{\n"
    for part in range(parts):
        text += _join(into, part, parts)
        if kind == "s32":
            text += "  %r = or <32 x i32> %v0, zeroinitializer\n"
        elif kind == "f64":
            text += "  %r = bitcast <32 x double> %v0 to <32 x i64>\n"
        else:
            text += f"""  %f{part} = fptrunc <32 x double> %v{part} to <32 x float>
  %n{part} = fcmp uno <32 x float> %f{part}, zeroinitializer
"""
            if kind == "f32":
                text += f"""  %b = bitcast <32 x float> %f0 to <32 x i32>
  %r = select <32 x i1> %n0, <32 x i32> splat (i32 {NAN["f32"]}), <32 x i32> %b
"""
            else:
                text += f"""  %h{part} = fptrunc <32 x float> %f{part} to <32 x half>
  %b{part} = bitcast <32 x half> %h{part} to <32 x i16>
  %c{part} = select <32 x i1> %n{part}, <32 x i16> splat (i16 {NAN["f16"]}), <32 x i16> %b{part}
  %z{part} = zext <32 x i16> %c{part} to <32 x i32>
"""
    if kind == "f16":
        text += "  %s = shl <32 x i32> %z1, splat (i32 16)\n  %r = or <32 x i32> %s, %z0\n"
    order = lane_vector("i32", BY_LANE)
    return text + (
        f"  %lanes = shufflevector <32 x {word}> %r, <32 x {word}> poison, <32 x i32> {order}\n"
        f"  store <32 x {word}> %lanes, ptr %register, align 64\n  ret void\n}}\n"
    )


NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}


def definitions() -> str:
    """All of them."""
    return "".join(map(place, PARTS)) + "".join(map(take, ("f32", "f16", "f64", "s32")))
