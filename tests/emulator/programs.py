"""Random PTX programs, and what one thread of them does: a scalar interpreter in Python.

A program is a list of basic blocks. Each block's instructions are kept as pairs of PTX text and Python text that does
the same to a list `v` of 32-bit registers, so that the interpreter is the Python text, compiled once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import GeneratorType

WORDS = 6  # registers %v0 to %v5, stored to out[thread * WORDS + n]
TABLE = 1100  # words of the table that programs read
MASK = 0xFFFFFFFF

HEADER = """.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 room[32768];
.func (.param .b32 r) helper(.param .b32 x) {
 .reg .pred %p<2>; .reg .b32 %r<4>;
 ld.param.u32 %r1, [x];
 mov.u32 %r2, %r1;
 and.b32 %r3, %r1, 3;
 setp.eq.u32 %p1, %r3, 0;
 @%p1 bra DONE;
AGAIN:
 mad.lo.u32 %r2, %r2, 3, 1;
 sub.u32 %r3, %r3, 1;
 setp.ne.u32 %p1, %r3, 0;
 @%p1 bra AGAIN;
DONE:
 st.param.b32 [r], %r2;
 ret;
}
"""


def helper(x: int, out: list[int]) -> int:
    """The device function above; it adds to the count of instructions."""
    out[WORDS] += 7 + 4 * (x & 3)
    for _ in range(x & 3):
        x = x * 3 + 1 & MASK
    return x


PROLOGUE = """ .reg .pred %p<4>; .reg .b32 %v<6>; .reg .b32 %t<16>; .reg .b32 %c<64>; .reg .b64 %d<12>;
 .reg .b32 %s<4>; .reg .b32 %q<64>; .param .b32 argument; .param .b32 result;
 ld.param.u64 %d0, [room_of_blocks];
 ld.param.u64 %d1, [out];
 ld.param.u64 %d2, [table];
 mov.u32 %t0, %tid.x;
 mov.u32 %t1, %tid.y;
 mov.u32 %t2, %tid.z;
 mov.u32 %t3, %ntid.x;
 mov.u32 %t4, %ntid.y;
 mov.u32 %t5, %ctaid.x;
 mad.lo.u32 %t6, %t2, %t4, %t1;
 mad.lo.u32 %t6, %t6, %t3, %t0;
 mov.u32 %t7, %ntid.z;
 mul.lo.u32 %t8, %t3, %t4;
 mul.lo.u32 %t8, %t8, %t7;
 mad.lo.u32 %t9, %t5, %t8, %t6;
 mul.lo.u32 %t10, %t9, 24;
 mul.wide.u32 %d3, %t10, 1;
 add.s64 %d1, %d1, %d3;
 mul.wide.s32 %d4, %t0, 4;
 add.s64 %d4, %d2, %d4;
 mov.u32 %s0, room;
 mad.lo.u32 %s1, %t6, 64, %s0;
 add.u32 %s1, %s1, 16384;
 mad.lo.u32 %s0, %t6, 4, %s0;
 mul.wide.u32 %d6, %t5, 32768;
 add.s64 %d6, %d0, %d6;
 mul.wide.u32 %d7, %t6, 64;
 add.s64 %d7, %d6, %d7;
 add.s64 %d7, %d7, 16384;
 mul.wide.u32 %d8, %t6, 4;
 add.s64 %d6, %d6, %d8;
 mov.u32 %v0, %t6;
 mov.u32 %v1, %t0;
 mov.u32 %v2, %t5;
 mov.u32 %v3, 7;
 mov.u32 %v4, %t1;
 mov.u32 %v5, 0;
"""
PROLOGUE_INSTRUCTIONS = sum(not line.startswith(" .") for line in PROLOGUE.splitlines())


@dataclass(slots=True)
class Block:
    lines: list[tuple[str, str]] = field(default_factory=list)  # (PTX, Python)
    end: tuple[str, str] | None = None  # the branch; Python returns the next block


@dataclass(slots=True)
class Program:
    """One kernel."""

    name: str
    blocks: list[Block]
    tables: dict[str, list[int]] = field(default_factory=dict)

    def ptx(self) -> str:
        parameters = ", ".join(f".param .u64 {name}" for name in ("out", "table", "room_of_blocks"))
        text = f".visible .entry {self.name}({parameters}) {{\n{PROLOGUE}"
        for name, targets in self.tables.items():
            text += f" {name}: .branchtargets {', '.join(f'L{t}' for t in targets)};\n"
        for number, block in enumerate(self.blocks):
            text += f"L{number}:\n" + "".join(f" {ptx}\n" for ptx, _ in block.lines)
            if block.end is not None and block.end[0]:
                text += f" {block.end[0]}\n"
        return text + "}\n"

    def interpreter(self) -> Callable[[list[int], list[int], list[int]], Generator[bool, int, int]]:
        """run(v, table, out): a thread. It yields what it votes, is sent the warp's votes, and returns how many
        instructions it executed; `out` gets WORDS words."""
        source = ""
        for number, block in enumerate(self.blocks):
            size = len(block.lines) + sum(ptx.count(";") for ptx in ([block.end[0]] if block.end else []))
            body = [f"out[{WORDS}] += {size}", *(python for _, python in block.lines)]
            body.append(block.end[1] if block.end else f"return {number + 1}")
            source += f"def b{number}(v, c, table, out, thread, m):\n" + "".join(f"    {line}\n" for line in body)
        scope: dict[str, object] = {"helper": helper}
        exec(source, scope)
        steps = [scope[f"b{n}"] for n in range(len(self.blocks))]

        def run(v: list[int], table: list[int], out: list[int]) -> Generator[bool, int, int]:
            out.append(PROLOGUE_INSTRUCTIONS)
            c = [0] * 64
            m = [[0] * 16 for _ in range(4)]
            at = 0
            thread = v[1]
            while at >= 0:
                result = steps[at](v, c, table, out, thread, m)  # type: ignore[operator]
                at = (yield from result) if isinstance(result, GeneratorType) else result
            return out.pop()

        return run


class Author:
    """Structured programs: assignments, ifs, loops with break and continue, switches, early returns."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.blocks = [Block()]
        self.tables: dict[str, list[int]] = {}
        self.counters = 0
        self.loops: list[tuple[int, list[int], list[int], int]] = []  # (head, blocks that break, blocks that continue)

    # ---------------------------------------------------------------- blocks
    @property
    def here(self) -> Block:
        return self.blocks[-1]

    def new(self) -> int:
        self.blocks.append(Block())
        return len(self.blocks) - 1

    def emit(self, ptx: str, python: str) -> None:
        self.here.lines.append((ptx, python))

    # ---------------------------------------------------------------- statements
    def register(self) -> int:
        return self.rng.randrange(WORDS)

    def assignment(self) -> None:
        rng = self.rng
        d, a, b = self.register(), self.register(), self.register()
        k = rng.choice([1, 2, 3, 4, 5, 7, 31, 32, 100, 255, 0xFFFFFFFF, 0x80000000])
        form = rng.randrange(13)
        guard, unless = "", ""
        if rng.random() < 0.25:
            self.condition(0)
            guard, unless = rng.choice([("@%p0 ", "if c[60]: "), ("@!%p0 ", "if not c[60]: ")])
        if form == 0:
            ptx, python = f"add.u32 %v{d}, %v{a}, %v{b};", f"v[{d}] = v[{a}] + v[{b}] & {MASK}"
        elif form == 1:
            ptx, python = f"sub.s32 %v{d}, %v{a}, %v{b};", f"v[{d}] = v[{a}] - v[{b}] & {MASK}"
        elif form == 2:
            ptx, python = f"mul.lo.s32 %v{d}, %v{a}, {k};", f"v[{d}] = v[{a}] * {k} & {MASK}"
        elif form == 3:
            ptx, python = f"mad.lo.s32 %v{d}, %v{a}, {k}, %v{b};", f"v[{d}] = v[{a}] * {k} + v[{b}] & {MASK}"
        elif form == 4:
            ptx, python = f"and.b32 %v{d}, %v{a}, {k};", f"v[{d}] = v[{a}] & {k}"
        elif form == 5:
            ptx, python = f"xor.b32 %v{d}, %v{a}, %v{b};", f"v[{d}] = v[{a}] ^ v[{b}]"
        elif form == 6:
            n = rng.randrange(8)
            ptx, python = f"shl.b32 %v{d}, %v{a}, {n};", f"v[{d}] = v[{a}] << {n} & {MASK}"
        elif form == 7:
            n = rng.choice([1, 2, 5, 8])
            ptx, python = f"shr.u32 %v{d}, %v{a}, {n};", f"v[{d}] = v[{a}] >> {n}"
        elif form == 8:
            ptx, python = f"min.u32 %v{d}, %v{a}, %v{b};", f"v[{d}] = min(v[{a}], v[{b}])"
        elif form == 9:
            ptx, python = f"mov.u32 %v{d}, {k};", f"v[{d}] = {k}"
        elif form == 10:
            ptx, python = f"mov.u32 %v{d}, %v{a};", f"v[{d}] = v[{a}]"
        elif form == 11:  # table[threadIdx.x + n]
            n = rng.randrange(8)
            ptx, python = f"ld.global.u32 %v{d}, [%d4+{4 * n}];", f"v[{d}] = table[thread + {n}]"
        else:  # table[a % 1024]
            self.emit(f"and.b32 %t11, %v{a}, 1023;", f"c[63] = v[{a}] & 1023")
            self.emit("mul.wide.u32 %d5, %t11, 4;", "pass")
            self.emit("add.s64 %d5, %d2, %d5;", "pass")
            ptx, python = f"ld.global.u32 %v{d}, [%d5];", f"v[{d}] = table[c[63]]"
        self.emit(guard + ptx, unless + python)

    def condition(self, predicate: int = 1) -> None:
        """Set %p1 (c[61]) from a comparison."""
        a, b = self.register(), self.register()
        k = self.rng.choice([0, 1, 2, 3, 5, 8, 16, 31, 40])
        place = 60 + predicate
        form = self.rng.randrange(4)
        if form == 0:
            self.emit(f"setp.lt.u32 %p{predicate}, %v{a}, %v{b};", f"c[{place}] = v[{a}] < v[{b}]")
        elif form == 1:
            self.emit(f"setp.gt.u32 %p{predicate}, %v{a}, {k};", f"c[{place}] = v[{a}] > {k}")
        elif form == 2:
            self.emit(f"and.b32 %t12, %v{a}, {k};", f"c[62] = v[{a}] & {k}")
            self.emit(f"setp.eq.u32 %p{predicate}, %t12, 0;", f"c[{place}] = c[62] == 0")
        else:
            self.emit(f"setp.ne.u32 %p{predicate}, %v{a}, %v{b};", f"c[{place}] = v[{a}] != v[{b}]")

    def store(self) -> None:
        n = self.register()
        self.emit(f"st.global.u32 [%d1+{4 * n}], %v{n};", f"out[{n}] = v[{n}]")

    def memory(self) -> None:
        """A load or store of the thread's own 16 words: shared (0, 1) or global (2, 3), side by side with other
        threads' or in a row of its own."""
        rng = self.rng
        array = rng.randrange(4)
        space, base = [("shared", "%s0"), ("shared", "%s1"), ("global", "%d6"), ("global", "%d7")][array]
        pitch = (1024, 4)[array % 2]
        word, index = rng.randrange(8), ""
        if array < 2 and rng.random() < 0.3:  # words as a value says
            a = self.register()
            self.emit(f"and.b32 %s2, %v{a}, 7;", f"c[58] = v[{a}] & 7")
            self.emit(f"mad.lo.u32 %s2, %s2, {pitch}, {base};", "pass")
            base, index = "%s2", " + c[58]"
        elif array == 0 and self.loops and rng.random() < 0.5:  # a pointer that moves with the loop
            number = self.loops[-1][3]
            base, index = f"%q{number}", f" + c[{number}]"
        guard, unless = "", ""
        if rng.random() < 0.2:
            self.condition(0)
            guard, unless = rng.choice([("@%p0 ", "if c[60]: "), ("@!%p0 ", "if not c[60]: ")])
        count = rng.choice([1, 1, 2, 4]) if array % 2 and not index else 1
        word = word // count * count
        names = [self.register() for _ in range(count)]
        vector = "" if count == 1 else f".v{count}"
        store = rng.random() < 0.5
        if not store:
            names = rng.sample(range(WORDS), count)
        regs = f"%v{names[0]}" if count == 1 else "{" + ", ".join(f"%v{n}" for n in names) + "}"
        place = f"[{base}+{word * pitch}]"
        if store:
            action = "; ".join(f"m[{array}][{word + k}{index}] = v[{n}]" for k, n in enumerate(names))
            self.emit(f"{guard}st.{space}{vector}.u32 {place}, {regs};", unless + action)
        else:
            action = "; ".join(f"v[{n}] = m[{array}][{word + k}{index}]" for k, n in enumerate(names))
            self.emit(f"{guard}ld.{space}{vector}.u32 {regs}, {place};", unless + action)

    def vote(self) -> None:
        """Where all threads come by that are left: the votes of the warp's."""
        self.condition()
        d = self.register()
        self.emit(f"vote.sync.ballot.b32 %v{d}, %p1, 0xffffffff;", f"v[{d}] = yield c[61]")

    def call(self) -> None:
        d, a = self.register(), self.register()
        self.emit(f"st.param.b32 [argument], %v{a};", f"v[{d}] = helper(v[{a}], out)")
        self.emit("call (result), helper, (argument);", "pass")
        self.emit(f"ld.param.b32 %v{d}, [result];", "pass")

    def statements(self, depth: int, count: int) -> None:
        for _ in range(count):
            kind = self.rng.random()
            if depth > 0 and kind < 0.16:
                self.choice(depth)
            elif depth > 0 and kind < 0.28:
                self.loop(depth)
            elif depth > 0 and kind < 0.34:
                self.switch(depth)
            elif kind < 0.40 and self.loops:
                self.leave_loop()
            elif kind < 0.43:
                self.early_return()
            elif kind < 0.5:
                self.store()
            elif kind < 0.62:
                self.memory()
            elif kind < 0.65:
                self.call()
            elif kind < 0.69 and depth == 3:
                self.vote()
            elif kind < 0.72 and depth == 3:
                self.emit("bar.sync 0;", "pass")
            else:
                self.assignment()

    def choice(self, depth: int) -> None:
        self.condition()
        top = self.here
        negate = self.rng.random() < 0.5
        self.new()
        self.statements(depth - 1, self.rng.randrange(1, 4))
        then_end = self.here
        otherwise = self.new()
        if self.rng.random() < 0.6:
            self.statements(depth - 1, self.rng.randrange(1, 4))
            join = self.new()
            if then_end.end is None:
                then_end.end = (f"bra L{join};", f"return {join}")
        guard, test = ("@!%p1", "not c[61]") if negate else ("@%p1", "c[61]")
        number = self.blocks.index(top)
        top.end = (f"{guard} bra L{otherwise};", f"return {otherwise} if {test} else {number + 1}")

    def loop(self, depth: int) -> None:
        """for (c = 0; c < (v & 3) + n; c++), tested at the end; break and continue inside."""
        counter = self.counters = self.counters + 1
        if counter >= 50:
            return
        a, n = self.register(), self.rng.randrange(1, 3)
        self.emit(f"and.b32 %c{counter}, %v{a}, 3;", f"c[{counter}] = v[{a}] & 3")
        self.emit(f"add.u32 %c{counter}, %c{counter}, {n};", f"c[{counter}] += {n}")
        self.emit(f"mad.lo.u32 %q{counter}, %c{counter}, 1024, %s0;", "pass")
        head = self.new()
        breaks: list[int] = []
        continues: list[int] = []
        self.loops.append((head, breaks, continues, counter))
        self.statements(depth - 1, self.rng.randrange(1, 4))
        self.loops.pop()
        latch = self.new()
        self.emit(f"sub.u32 %c{counter}, %c{counter}, 1;", f"c[{counter}] -= 1")
        self.emit(f"sub.u32 %q{counter}, %q{counter}, 1024;", "pass")
        self.emit(f"setp.ne.u32 %p3, %c{counter}, 0;", f"c[62] = c[{counter}] != 0")
        after = self.new()
        self.blocks[latch].end = (f"@%p3 bra L{head};", f"return {head} if c[62] else {after}")
        for places, target in ((breaks, after), (continues, latch)):
            for place in places:
                self.blocks[place].end = (
                    f"@%p1 bra L{target};",
                    f"return {target} if c[61] else {place + 1}",
                )

    def leave_loop(self) -> None:
        self.condition()
        place = len(self.blocks) - 1
        self.rng.choice(self.loops[-1][1:3]).append(place)
        self.new()

    def switch(self, depth: int) -> None:
        a = self.register()
        name = f"T{len(self.tables)}"
        self.tables[name] = []
        self.emit(f"and.b32 %t13, %v{a}, 3;", f"c[62] = v[{a}] & 3")
        top = self.here
        arms, ends = [], []
        for _ in range(4):
            if arms and self.rng.random() < 0.3:
                arms.append(self.rng.choice(arms))
                continue
            arms.append(self.new())
            self.statements(depth - 1, self.rng.randrange(1, 3))
            if self.rng.random() < 0.7:  # else fall into the next arm
                ends.append(self.here)
        join = self.new()
        for end in ends:
            if end.end is None:
                end.end = (f"bra L{join};", f"return {join}")
        self.tables[name] = arms
        top.end = (f"brx.idx %t13, {name};", f"return {arms}[c[62]]")

    def early_return(self) -> None:
        self.condition()
        guard, test = self.rng.choice([("@%p1", "c[61]"), ("@!%p1", "not c[61]")])
        self.here.end = (f"{guard} {self.rng.choice(['ret', 'exit'])};", f"return -1 if {test} else {len(self.blocks)}")
        self.new()

    def finish(self, name: str) -> Program:
        self.vote()
        for n in range(WORDS):
            self.emit(f"st.global.u32 [%d1+{4 * n}], %v{n};", f"out[{n}] = v[{n}]")
        self.here.end = ("ret;", "return -1")
        return Program(name, self.blocks, self.tables)


def structured(seed: int) -> Program:
    """A program of nested statements."""
    author = Author(seed)
    author.statements(3, 7)
    return author.finish(f"structured{seed}")


def tangled(seed: int) -> Program:
    """Blocks that jump anywhere, loops with several entries among them; a count of blocks ends every thread."""
    author = Author(seed)
    rng = author.rng
    count = rng.randrange(4, 9)
    for number in range(count):
        if number:
            author.new()
        for _ in range(rng.randrange(1, 3)):
            author.assignment()
        author.emit("add.u32 %c1, %c1, 1;" if number else "mov.u32 %c1, 1;", "c[1] += 1")
        author.condition()
        author.emit("setp.gt.u32 %p2, %c1, 12;", "c[59] = c[1] > 12")
        target = rng.randrange(1, count)
        split = len(author.blocks) - 1
        author.here.end = (f"@%p2 bra L{10**6};", f"return {10**6} if c[59] else {split + 1}")
        author.new()
        author.here.end = (f"@%p1 bra L{10**6 + target};", f"return {10**6 + target} if c[61] else {split + 2}")
    last = author.new()
    program = author.finish(f"tangled{seed}")
    for block in program.blocks:  # places of blocks are known only now: block n begins at 2n
        if block.end is not None:
            ptx, python = block.end
            for number in range(count - 1, 0, -1):
                ptx = ptx.replace(f"L{10**6 + number};", f"L{2 * number};")
                python = python.replace(f"return {10**6 + number} ", f"return {2 * number} ")
            block.end = (ptx.replace(f"L{10**6};", f"L{last};"), python.replace(f"return {10**6} ", f"return {last} "))
    return program
