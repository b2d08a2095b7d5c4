"""Ways to damage text and values. Whatever is drawn comes from the generator that is handed in."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any


def _texts(block: str) -> tuple[str, ...]:
    """The texts of a block, between which there are two blanks or a new line."""
    return tuple(text for line in block.strip().splitlines() for text in line.strip().split("  "))


BOMB = "\n".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}' if n else 'x'] * 9)}]" for n in range(9))
#: what may stand where a JSON value is expected, as text
RAW = (
    *_texts(
        r"""
        null  true  false  0  1  -1  2  3  0.5  -0.0  1e6  1.0  255  32768  1e15  1e400  1e-400  01  +1  1_000  0x10
        NaN  Infinity  -Infinity  .5  5.  'x'  undefined  []  {}  [[]]  [null]  [{}]  {"a": 1, "a": 2}  {"": 1}
        [0, 0, 0]  ["x", "x"]  ""  " "  "x"  "0"  "random"  "heuristic"  "self"  "mc:1"  "a:b"  "no.zip"  "lin_0.1"
        "lin_nan"  "player_0"  "player_99"  "=1+1"  "<b>&amp;</b>"  "%s {0} {x}"  "../../x"  "/dev/null"  "."
        "\ud800"  "\udfff x"  "\u0000"  "\u001b[31mred"  "a\nb"  "\u2028"  "\ufeff"  "牌 ± é"  "\
        """
    ),
    *(str(2**k + d) for k in (31, 32, 53, 63, 64, 100) for d in (-1, 0)),
    *("", "9" * 400, "9" * 5000, "-" + "9" * 5000, "0." + "3" * 5000),
    *('"' + "x" * 300 + '"', '"' + "x" * 50_000 + '"', '"' + "\\u0000" * 500 + '"'),
    *("[" * 500 + "]" * 500, "[" * 50_000, '{"a":' * 500 + "1" + "}" * 500, "[" + "0," * 5000 + "0]"),
)
#: what YAML adds to that
YAML_RAW = (
    *RAW,
    *_texts(
        """
        ~  .nan  .inf  yes  off  1e-3  3e-4  0o17  1:30  2001-01-01  2001-99-99  lin_0  lin_1e999  =  <<  '  |  >
        !!python/object/apply:os.getcwd []  !!python/name:os.system x  !x y  !!binary aGk=  !!binary '*'  !!set {a, b}
        !!bool x  !!int ''  !!int x  !!float x  !!null x  !!timestamp x  !!omap [a: 1]  !!pairs [a: 1]  !!str 1
        &a [*a]  *nobody  &a &b x  {? [a] : b}  {? {a: b} : c}  [a, b  {a: b  %YAML 9  --- x  - x
        """
    ),
    "\t",
    "{" + BOMB.replace("\n", ", ") + "}",
)
BYTES = (
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b'"',
    b"{",
    b"]",
    b":",
    b"#",
    b"PK",
)


class Raw:
    """Text that goes into a file as it is, in the place of a value."""

    def __init__(self, text: str) -> None:
        self.text = text


def dumped(value: Any, **further: Any) -> str:
    """A value with `Raw` texts in it as JSON, which it need not be any more."""
    raws: list[Raw] = []

    def mark(raw: Raw) -> str:
        raws.append(raw)
        return f"@raw {len(raws) - 1}@"

    text = json.dumps(value, default=mark, **further)
    for number, raw in enumerate(raws):
        text = text.replace(f'"@raw {number}@"', raw.text)
    return text


# --- values


def damaged_value(value: Any, rng: Random, raw: tuple[str, ...] = RAW) -> Any:
    """A copy of a JSON value with one to three places changed."""
    holder = [copy.deepcopy(value)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _change(holder, rng, raw)
    return holder[0]


def _change(holder: list[Any], rng: Random, raw: tuple[str, ...]) -> None:
    inside, key = _place(holder, rng)
    old = inside[key]
    way = rng.random()
    if way < 0.4:
        inside[key] = Raw(rng.choice(raw))
    elif way < 0.55:
        other, other_key = _place(holder, rng)
        inside[key] = copy.deepcopy(other[other_key])
    elif way < 0.7:
        inside[key] = _nudged(old, rng)
    elif isinstance(inside, dict):
        if way < 0.8:
            del inside[key]
        elif way < 0.9:
            inside[rng.choice(("", "x", f"{key}x", key[:-1], "name", "self", "__class__", "\ud800", "x" * 2000))] = old
        else:
            inside[key] = Raw(f"{dumped(old)}, {json.dumps(key)}: {rng.choice(raw)}")  # the key twice
    elif inside is not holder:
        if way < 0.8:
            del inside[key]
        elif way < 0.9:
            inside.insert(rng.randrange(len(inside) + 1), old)
        else:
            other_key = rng.randrange(len(inside))
            inside[key], inside[other_key] = inside[other_key], inside[key]


def _place(holder: list[Any], rng: Random) -> tuple[Any, Any]:
    """A container, and a key or an index in it."""
    inside: Any = holder
    key: Any = 0
    while isinstance(inside[key], (dict, list)) and inside[key] and (inside is holder or rng.random() < 0.75):
        inside = inside[key]
        key = rng.choice(list(inside)) if isinstance(inside, dict) else rng.randrange(len(inside))
    return inside, key


def _nudged(value: Any, rng: Random) -> Any:
    """Nearly the same."""
    if isinstance(value, bool) or value is None:
        return rng.choice((not value, int(value or 0), str(value)))
    if isinstance(value, (int, float)):
        return rng.choice(
            (value + 1, value - 1, -value, value * 1000, value / 2, float(value), str(value), [value], bool(value))
        )
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        return rng.choice(
            (value[:at], value + " ", value.upper(), value[:at] + "é" + value[at:], value + "\n", [value], {value: 1})
        )
    if isinstance(value, list):
        return rng.choice(
            (value[::-1], value * 2, [value], value[: len(value) // 2], dict(enumerate(map(str, range(3)))))
        )
    return rng.choice(
        (
            [value],
            list(value.items()) if isinstance(value, dict) else [],
            {**value, "x": 1} if isinstance(value, dict) else 0,
        )
    )


# --- texts and bytes


def damaged_bytes(content: bytes, rng: Random) -> bytes:
    """One to three places changed, whatever the bytes are."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(_WAYS)(content, rng)
    return content


def flipped(content: bytes, rng: Random) -> bytes:
    """Some bits turned over."""
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8)) if out else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _truncate(content: bytes, rng: Random) -> bytes:
    return content[: rng.choice((0, 1, len(content) - 1, rng.randrange(len(content) + 1)))]


def _cut(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    return content[:start] + content[start + rng.choice((1, 4, 100)) :]


def _double(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    end = start + rng.choice((1, 4, 100))
    return content[:end] + content[start:]


def _insert(content: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(BYTES) + content[at:]


def _zero(content: bytes, rng: Random) -> bytes:
    start, count = rng.randrange(len(content) + 1), rng.choice((4, 512))
    return content[:start] + bytes(min(count, len(content) - start)) + content[start + count :]


def _lines(content: bytes, rng: Random) -> bytes:
    """A line twice, two lines swapped, or one without its end."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    one, other = (rng.randrange(len(lines)) for _ in range(2))
    way = rng.randrange(4)
    if way == 0:
        lines.insert(other, lines[one])
    elif way == 1:
        lines[one], lines[other] = lines[other], lines[one]
    elif way == 2:
        lines[one] = lines[one].rstrip(b"\n")
    else:
        del lines[one]
    return b"".join(lines)


_WAYS: tuple[Callable[[bytes, Random], bytes], ...] = (flipped, _truncate, _cut, _double, _insert, _zero, _lines)


def damaged_json(text: bytes, rng: Random) -> bytes:
    """JSON with a value changed or, now and then, a byte."""
    if rng.random() < 0.25:
        return damaged_bytes(text, rng)
    value = damaged_value(json.loads(text), rng)
    return dumped(value, ensure_ascii=rng.random() < 0.8, indent=rng.choice((None, 1))).encode("utf-8", "surrogatepass")


def damaged_json_lines(text: bytes, rng: Random) -> bytes:
    """One JSON object a line: one line changed, or the lines' order, or a byte."""
    way = rng.random()
    if way < 0.2:
        return damaged_bytes(text, rng)
    if way < 0.3:
        return _lines(text, rng)
    lines = text.splitlines(keepends=True)
    number = rng.randrange(len(lines))
    value = damaged_value(json.loads(lines[number]), rng)
    line = dumped(value, ensure_ascii=rng.random() < 0.8).encode("utf-8", "surrogatepass")
    return b"".join([*lines[:number], line + b"\n", *lines[number + 1 :]])


def damaged_yaml(value: dict[str, Any], text: bytes, rng: Random) -> bytes:
    """A YAML mapping with a value changed, in flow or in block style, or its text with a line or a byte changed."""
    way = rng.random()
    if way < 0.2:
        return damaged_bytes(text, rng)
    if way < 0.4:
        lines = text.decode().splitlines()
        number = rng.choice([n for n, line in enumerate(lines) if ":" in line])
        lines[number] = f"{lines[number].partition(':')[0]}: {rng.choice(YAML_RAW)}"
        return "\n".join(lines).encode()
    changed = damaged_value(value, rng, YAML_RAW)
    if way < 0.7 or not isinstance(changed, dict):
        return dumped(changed).encode()
    return "\n".join(f"{json.dumps(key)}: {dumped(inner)}" for key, inner in changed.items()).encode()


def bomb(rng: Random) -> bytes:
    """YAML whose aliases stand for a thousand million values, at a place of its own."""
    key = rng.choice(("n_envs", "env_kwargs", "opponents", "eval_opponents", "policy_kwargs", "x"))
    return (
        f"{BOMB}\n{key}: *b8\n".encode()
        if rng.random() < 0.5
        else f"{key}:\n  {{{BOMB.replace(chr(10), ', ')}}}\n".encode()
    )
