"""Exchange within a warp: shuffles, votes, match, redux, activemask, elect (PTX ISA 9.7.9.6, 9.7.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.kinds import UNIFORM, VARYING, Tag, constant
from lanewise.emulator.lowering import events
from lanewise.emulator.moving import lane_vector
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import TYPE_BITS, Instruction, Operand, PairOperand

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def _pair(operand: Operand) -> tuple[Operand, Operand | None]:
    return (operand.first, operand.second) if isinstance(operand, PairOperand) else (operand, None)


# ---------------------------------------------------------------------- shuffles
def source_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Where a lane reads from, and whether that lane is in its segment (PTX ISA, shfl.sync)."""
    segment = c >> 8 & 31
    clamp = c & 31
    offset = b & 31
    high = (lane & segment) | (clamp & ~segment & 31)
    low = lane & segment
    if mode == "up":
        source = lane - offset
        inside = source >= high
    elif mode == "down":
        source = lane + offset
        inside = source <= high
    elif mode == "bfly":
        source = lane ^ offset
        inside = source <= high
    else:
        source = low | (offset & ~segment & 31)
        inside = source <= high
    return (source if inside else lane), inside


def shfl(t: FunctionTranslator, ins: Instruction) -> None:
    """shfl.sync d|p, a, b, c, mask and the older shfl without a mask."""
    events.exchange(t, ins)
    target, predicate = _pair(ins.operands[0])
    value, b, c = ins.operands[1:4]
    mode = next(m for m in ins.modifiers if m in ("up", "down", "bfly", "idx"))
    source = t.vector(t.operand(value, "b32"))
    lanes, clamp = constant(b), constant(c)
    if lanes is not None and clamp is not None:
        picks = [source_lane(mode, lane, lanes, clamp) for lane in range(32)]
        fixed = lane_vector("i32", (place for place, _ in picks))

        def permute(v: str) -> str:
            return t.out.let(f"shufflevector <32 x i32> {v}, <32 x i32> poison, <32 x i32> {fixed}")

        inside = "<" + ", ".join(f"i1 {'true' if ok else 'false'}" for _, ok in picks) + ">"
    else:
        places, inside = _source_lanes(t, mode, b, c)

        def permute(v: str) -> str:
            return _permute(t, v, places)

    t.defined.shuffled(target, value, permute)
    t.write(target, _as_kind(t, permute(source), target), ins)
    if predicate is not None:
        t.write(predicate, _as_kind(t, inside, predicate, "i1"), ins)


def _as_kind(t: FunctionTranslator, vector: str, target: Operand, element: str = "i32") -> Quantity:
    """A vector result for a register that the analysis may have found uniform: any active lane's value then."""
    kind = t.analysis.kind(target)
    if kind is not None and kind.tag == Tag.UNIFORM:
        return q.uniform(t.out.let(f"extractelement <32 x {element}> {vector}, i32 {t.edge('first')}"), element)
    return q.varying(vector, element)


def _source_lanes(t: FunctionTranslator, mode: str, b: Operand, c: Operand) -> tuple[str, str]:
    """The rule of `source_lane` as vector code: (source lane, inside)."""
    e = t.e32
    lane = Value(lane_vector("i32", range(32)), "i32")
    bv = e.op("and", Value(t.vector(t.operand(b, "b32")), "i32"), e.const("i32", 31))
    cv = Value(t.vector(t.operand(c, "b32")), "i32")
    segment = e.op("and", e.op("lshr", cv, e.const("i32", 8)), e.const("i32", 31))
    outside = e.op("xor", segment, e.const("i32", 31))
    clamp = e.op("and", cv, e.const("i32", 31))
    low = e.op("and", lane, segment)
    high = e.op("or", low, e.op("and", clamp, outside))
    if mode == "up":
        source = e.op("sub", lane, bv)
        inside = e.icmp("sge", source, high)
    elif mode == "down":
        source = e.op("add", lane, bv)
        inside = e.icmp("sle", source, high)
    elif mode == "bfly":
        source = e.op("xor", lane, bv)
        inside = e.icmp("sle", source, high)
    else:
        source = e.op("or", low, e.op("and", bv, outside))
        inside = e.icmp("sle", source, high)
    return e.select(inside, source, lane).text, inside.text


def _permute(t: FunctionTranslator, source: str, places: str) -> str:
    """source[places[lane]] for each lane, places below 32."""
    name = "lw_permute"
    t.out.define(name, _PERMUTE)
    return t.out.let(f"call <32 x i32> @{name}(<32 x i32> {source}, <32 x i32> {places})")


_PERMUTE = """
define internal <32 x i32> @lw_permute(<32 x i32> %v, <32 x i32> %i) noinline nounwind {
  %s = alloca <32 x i32>, align 128
  store <32 x i32> %v, ptr %s, align 128
  %j = and <32 x i32> %i, splat (i32 31)
  %p = getelementptr i32, ptr %s, <32 x i32> %j
  %r = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> align 4 %p, <32 x i1> splat (i1 true), <32 x i32> zeroinitializer)
  ret <32 x i32> %r
}
declare <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr>, <32 x i1>, <32 x i32>)
"""


# ---------------------------------------------------------------------- votes
def _members(t: FunctionTranslator, ins: Instruction, operand: Operand | None) -> Quantity:
    """The lanes that take part: the mask operand, among the active lanes on. Uniform, or one mask a lane."""
    on = t.mask(ins)
    if operand is None:
        return q.uniform(on, "i32")
    members = t.operand(operand, "b32")
    if members.tag == Tag.UNIFORM:
        return q.uniform(t.out.let(f"and i32 {members.text}, {on}"), "i32")
    return q.varying(t.out.let(f"and <32 x i32> {t.vector(members)}, {q.splat(t.out, 'i32', on)}"), "i32")


def _shape_of(t: FunctionTranslator, members: Quantity) -> tuple[Elementwise, Quantity]:
    kind = UNIFORM if members.tag == Tag.UNIFORM else VARYING
    return (t.e1 if kind == UNIFORM else t.e32), Quantity(kind, "i32", "")


def vote(t: FunctionTranslator, ins: Instruction) -> None:
    """vote.sync.{all,any,uni,ballot} and the older forms without a mask."""
    events.exchange(t, ins)
    destination = ins.operands[0]
    predicate = t.operand(ins.operands[1], "pred")
    members = _members(t, ins, ins.operands[2] if len(ins.operands) > 2 else None)
    bits = t.out.let(f"bitcast <32 x i1> {t.vector(predicate)} to i32")
    e, shape = _shape_of(t, members)
    holds = Value(bits if members.tag == Tag.UNIFORM else q.splat(t.out, "i32", bits), "i32")
    whole = Value(members.text, "i32")
    true = e.op("and", holds, whole)
    if ins.has("ballot"):
        result = true
    elif ins.has("all"):
        result = e.icmp("eq", true, whole)
    elif ins.has("any"):
        result = e.icmp("ne", true, e.const("i32", 0))
    else:
        result = e.op("or", e.icmp("eq", true, whole), e.icmp("eq", true, e.const("i32", 0)))
    t.write(destination, Quantity(shape.kind, result.type, result.text), ins)


def activemask(t: FunctionTranslator, ins: Instruction) -> None:
    """activemask: the lanes that run."""
    t.write(ins.operands[0], q.uniform(t.active, "i32"), ins)


def elect(t: FunctionTranslator, ins: Instruction) -> None:
    """elect.sync d|p, mask: the lowest member leads."""
    events.exchange(t, ins)
    target, predicate = _pair(ins.operands[0])
    members = _members(t, ins, ins.operands[1])
    text = members.text
    if members.tag != Tag.UNIFORM:
        text = t.out.let(f"extractelement <32 x i32> {members.text}, i32 {t.edge('first')}")
    t.out.declare("declare i32 @llvm.cttz.i32(i32, i1)")
    leader = t.out.let(f"call i32 @llvm.cttz.i32(i32 {text}, i1 false)")
    t.write(target, q.uniform(leader, "i32"), ins)
    if predicate is not None:
        same = t.out.let(f"icmp eq <32 x i32> {lane_vector('i32', range(32))}, {q.splat(t.out, 'i32', leader)}")
        t.write(predicate, q.varying(same, "i1"), ins)


# ---------------------------------------------------------------------- match
def match(t: FunctionTranslator, ins: Instruction) -> None:
    """match.any.sync and match.all.sync of 32- and 64-bit values."""
    events.exchange(t, ins)
    target, predicate = _pair(ins.operands[0])
    element = f"i{TYPE_BITS[ins.type]}"
    value = t.vector(t.operand(ins.operands[1], ins.type))
    members = _members(t, ins, ins.operands[2])
    vector = t.vector(members)
    name = f"lw_match_{element}"
    t.out.define(name, _match(element))
    same = t.out.let(f"call <32 x i32> @{name}(<32 x {element}> {value}, <32 x i32> {vector}, i32 {t.mask(ins)})")
    if ins.has("any"):
        t.write(target, q.varying(same, "i32"), ins)
        return
    all_same = t.out.let(f"icmp eq <32 x i32> {same}, {vector}")
    result = t.out.let(f"select <32 x i1> {all_same}, <32 x i32> {vector}, <32 x i32> zeroinitializer")
    t.write(target, _as_kind(t, result, target), ins)
    if predicate is not None:
        t.write(predicate, _as_kind(t, all_same, predicate, "i1"), ins)


def _match(element: str) -> str:
    vector = f"<32 x {element}>"
    return f"""
define internal <32 x i32> @lw_match_{element}({vector} %v, <32 x i32> %members, i32 %m) noinline nounwind {{
entry:
  br label %loop
loop:
  %rest = phi i32 [ %m, %entry ], [ %rest2, %one ]
  %r = phi <32 x i32> [ zeroinitializer, %entry ], [ %r2, %one ]
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %one
one:
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %x = extractelement {vector} %v, i32 %i
  %x0 = insertelement {vector} poison, {element} %x, i32 0
  %xs = shufflevector {vector} %x0, {vector} poison, <32 x i32> zeroinitializer
  %eq = icmp eq {vector} %v, %xs
  %eqm0 = bitcast <32 x i1> %eq to i32
  %eqm = and i32 %eqm0, %m
  %lanes = bitcast i32 %eqm to <32 x i1>
  %e0 = insertelement <32 x i32> poison, i32 %eqm, i32 0
  %es = shufflevector <32 x i32> %e0, <32 x i32> poison, <32 x i32> zeroinitializer
  %mine = and <32 x i32> %es, %members
  %r2 = select <32 x i1> %lanes, <32 x i32> %mine, <32 x i32> %r
  %ne = xor i32 %eqm, -1
  %rest2 = and i32 %rest, %ne
  br label %loop
out:
  ret <32 x i32> %r
}}
declare i32 @llvm.cttz.i32(i32, i1)
"""


# ---------------------------------------------------------------------- redux
_IDENTITY = {"add": "0", "or": "0", "xor": "0", "and": "-1"}


def redux(t: FunctionTranslator, ins: Instruction) -> None:
    """redux.sync: a reduction over the members, given to each of them."""
    events.exchange(t, ins)
    operation = next(m for m in ins.modifiers if m in ("add", "min", "max", "and", "or", "xor"))
    signed = ins.type.startswith("s")
    value = t.vector(t.operand(ins.operands[1], ins.type))
    members = t.vector(_members(t, ins, ins.operands[2]))
    if operation in ("min", "max"):
        name = f"{'s' if signed else 'u'}{operation}"
        low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, -1)
        identity = str(high if operation == "min" else low)
    else:
        name, identity = operation, _IDENTITY[operation]
    helper = f"lw_redux_{name}"
    t.out.define(helper, _redux(helper, name, identity))
    result = t.out.let(f"call <32 x i32> @{helper}(<32 x i32> {value}, <32 x i32> {members}, i32 {t.mask(ins)})")
    t.write(ins.operands[0], _as_kind(t, result, ins.operands[0]), ins)


def _redux(helper: str, operation: str, identity: str) -> str:
    return f"""
define internal <32 x i32> @{helper}(<32 x i32> %v, <32 x i32> %members, i32 %m) noinline nounwind {{
entry:
  br label %loop
loop:
  %rest = phi i32 [ %m, %entry ], [ %rest2, %one ]
  %r = phi <32 x i32> [ zeroinitializer, %entry ], [ %r2, %one ]
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %one
one:
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %own0 = extractelement <32 x i32> %members, i32 %i
  %self = shl i32 1, %i
  %own = or i32 %own0, %self
  %lanes = bitcast i32 %own to <32 x i1>
  %in = select <32 x i1> %lanes, <32 x i32> %v, <32 x i32> splat (i32 {identity})
  %s = call i32 @llvm.vector.reduce.{operation}.v32i32(<32 x i32> %in)
  %s0 = insertelement <32 x i32> poison, i32 %s, i32 0
  %ss = shufflevector <32 x i32> %s0, <32 x i32> poison, <32 x i32> zeroinitializer
  %r2 = select <32 x i1> %lanes, <32 x i32> %ss, <32 x i32> %r
  %no = xor i32 %own, -1
  %rest2 = and i32 %rest, %no
  br label %loop
out:
  ret <32 x i32> %r
}}
declare i32 @llvm.vector.reduce.{operation}.v32i32(<32 x i32>)
declare i32 @llvm.cttz.i32(i32, i1)
"""
