"""One read-modify-write operation of memory in LLVM IR: what atomics and reductions do to each word."""

from __future__ import annotations

INTEGER = {
    "add": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "exch": "xchg",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
}
_WIDE = {"f32": "float", "f64": "double"}
_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_NAN = 0x7FFF  # what a card writes for every NaN of 16 bits


def _halves(operation: str, ptx_type: str, element: str) -> str:
    """add, min and max of one or two 16-bit floats. Subnormals are kept and -0 is below +0, as on an H200; bf16 goes by
    integers, since the conversion of x86 processors drops subnormals."""
    two = ptx_type.endswith("x2")

    def of(kind: str) -> str:
        return f"<2 x {kind}>" if two else kind

    def all_(kind: str, value: int | str) -> str:
        return f"splat ({kind} {value})" if two else str(value)

    lines = [f"%{n}i = bitcast {element} %{source} to {of('i16')}" for n, source in (("o", "old"), ("b", "b"))]
    if operation in ("min", "max"):
        infinity = 0x7F80 if ptx_type.startswith("bf16") else 0x7C00
        for n in ("o", "b"):  # keys that are in order as integers
            lines += [
                f"%{n}s = ashr {of('i16')} %{n}i, {all_('i16', 15)}",
                f"%{n}m = and {of('i16')} %{n}s, {all_('i16', _NAN)}",
                f"%{n}k = xor {of('i16')} %{n}i, %{n}m",
                f"%{n}a = and {of('i16')} %{n}i, {all_('i16', _NAN)}",
                f"%{n}n = icmp ugt {of('i16')} %{n}a, {all_('i16', infinity)}",
            ]
        lines += [
            f"%better = icmp {'slt' if operation == 'min' else 'sgt'} {of('i16')} %bk, %ok",
            f"%wanted = or {of('i1')} %better, %on",
            f"%number = xor {of('i1')} %bn, {all_('i1', 'true')}",
            f"%take = and {of('i1')} %wanted, %number",
            f"%nan = and {of('i1')} %bn, %on",
            f"%result = select {of('i1')} %take, {of('i16')} %bi, {of('i16')} %oi",
        ]
    elif ptx_type.startswith("f16"):
        lines += [
            *(f"%{n}f = bitcast {of('i16')} %{n}i to {of('half')}" for n in ("o", "b")),
            f"%sum = fadd {of('half')} %of, %bf",
            f"%nan = fcmp uno {of('half')} %sum, %sum",
            f"%result = bitcast {of('half')} %sum to {of('i16')}",
        ]
    else:
        for n in ("o", "b"):
            lines += [
                f"%{n}z = zext {of('i16')} %{n}i to {of('i32')}",
                f"%{n}w = shl {of('i32')} %{n}z, {all_('i32', 16)}",
                f"%{n}f = bitcast {of('i32')} %{n}w to {of('float')}",
            ]
        lines += [
            f"%sum = fadd {of('float')} %of, %bf",
            f"%nan = fcmp uno {of('float')} %sum, %sum",
            f"%bits = bitcast {of('float')} %sum to {of('i32')}",
            f"%upper = lshr {of('i32')} %bits, {all_('i32', 16)}",
            f"%odd = and {of('i32')} %upper, {all_('i32', 1)}",
            f"%bias = add {of('i32')} %odd, {all_('i32', 0x7FFF)}",
            f"%near = add {of('i32')} %bits, %bias",
            f"%top = lshr {of('i32')} %near, {all_('i32', 16)}",
            f"%result = trunc {of('i32')} %top to {of('i16')}",
        ]
    lines += [
        f"%kept = select {of('i1')} %nan, {of('i16')} {all_('i16', _NAN)}, {of('i16')} %result",
        f"%new = bitcast {of('i16')} %kept to {element}",
    ]
    return "".join(f"  {line}\n" for line in lines)


def _combine(operation: str, ptx_type: str, element: str) -> str:
    """LLVM lines that compute `%new` from `%old`, `%b` and `%c` (texts of the element type)."""
    if operation == "cas":
        return f"  %same = icmp eq {element} %old, %b\n  %new = select i1 %same, {element} %c, {element} %old\n"
    if operation == "exch":
        return f"  %new = add {element} %b, 0\n"
    if operation == "add" and ptx_type in _WIDE:
        kind = _WIDE[ptx_type]
        nan = "  %new = bitcast double %fn to i64\n"
        if ptx_type == "f32":
            nan = (
                "  %nan = fcmp uno float %fn, %fn\n  %fi = bitcast float %fn to i32\n"
                f"  %new = select i1 %nan, i32 {0x7FFFFFFF}, i32 %fi\n"
            )
        return (
            f"  %fo = bitcast {element} %old to {kind}\n  %fb = bitcast {element} %b to {kind}\n"
            f"  %fn = fadd {kind} %fo, %fb\n{nan}"
        )
    if ptx_type in _HALVES:
        return _halves(operation, ptx_type, element)
    if operation in ("min", "max"):
        sign = "s" if ptx_type.startswith("s") else "u"
        test = f"{sign}{'lt' if operation == 'min' else 'gt'}"
        return f"  %better = icmp {test} {element} %b, %old\n  %new = select i1 %better, {element} %b, {element} %old\n"
    if operation == "inc":
        return (
            f"  %wraps = icmp uge {element} %old, %b\n  %more = add {element} %old, 1\n"
            f"  %new = select i1 %wraps, {element} 0, {element} %more\n"
        )
    if operation == "dec":
        return (
            f"  %zero = icmp eq {element} %old, 0\n  %over = icmp ugt {element} %old, %b\n  %reset = or i1 %zero, %over\n"
            f"  %down = sub {element} %old, 1\n  %new = select i1 %reset, {element} %b, {element} %down\n"
        )
    return f"  %new = {INTEGER[operation]} {element} %old, %b\n"


def one_update(operation: str, ptx_type: str, element: str, shared: bool) -> str:
    """LLVM lines of one operation, in a block `%lane`: `%old` from `%p`, with `%b` (and `%c`). May open blocks; goes on
    to a block `%stored`. `shared`: nobody else runs meanwhile."""
    align = int(element[1:]) // 8
    if shared:
        return (
            f"  %old = load {element}, ptr %p, align {align}\n{_combine(operation, ptx_type, element)}"
            f"  store {element} %new, ptr %p, align {align}\n  br label %stored\n"
        )
    if operation == "cas":
        return (
            f"  %pair = cmpxchg ptr %p, {element} %b, {element} %c seq_cst seq_cst, align {align}\n"
            f"  %old = extractvalue {{ {element}, i1 }} %pair, 0\n  br label %stored\n"
        )
    simple = None
    if operation in INTEGER and ptx_type not in _WIDE and ptx_type not in _HALVES:
        simple = INTEGER[operation]
    elif operation in ("min", "max") and ptx_type not in _WIDE and ptx_type not in _HALVES:
        simple = f"{'' if ptx_type.startswith('s') else 'u'}{operation}"
    if operation == "exch":
        simple = "xchg"
    if simple is not None:
        return f"  %old = atomicrmw {simple} ptr %p, {element} %b seq_cst, align {align}\n  br label %stored\n"
    return f"""  %first = load atomic {element}, ptr %p monotonic, align {align}
  br label %try
try:
  %old = phi {element} [ %first, %lane ], [ %seen, %try ]
{_combine(operation, ptx_type, element)}  %pair = cmpxchg ptr %p, {element} %old, {element} %new seq_cst seq_cst, align {align}
  %seen = extractvalue {{ {element}, i1 }} %pair, 0
  %done = extractvalue {{ {element}, i1 }} %pair, 1
  br i1 %done, label %stored, label %try
"""
