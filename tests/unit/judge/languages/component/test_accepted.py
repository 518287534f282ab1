"""Ordinary components pass: the list of what is harmless is long enough to write programs with."""

from __future__ import annotations

import pytest

from redoma.judge.languages.component.validate import validate_component
from redoma.model.component import Validation
from tests.unit.judge.languages.component.carrying import marked

pytestmark = pytest.mark.requirement("C2")

PIECES = [
    "x = 1 + 2",
    "import math\nprint(math.sqrt(2) + math.pi)",
    "import math as m\nprint(m.floor(2.5))",
    "from math import sqrt, pi as circle\nprint(sqrt(circle))",
    "import json\nprint(json.dumps({'a': [1, 2]}))",
    "import json as j\nprint(j.loads('[1]')[0])",
    "def f():\n    import json\n    return json.loads('{}')",
    "import re\nprint(re.sub(r'\\d+', lambda m: m.group(0) * 2, 'a1b2'))",
    "import re\nP = re.compile(r'(?P<w>\\w+)')\nprint(P.match('abc').group('w'))",
    "from collections import Counter, deque, defaultdict\nd = defaultdict(list)\nd['a'].append(1)",
    "import collections\nP = collections.namedtuple('P', 'x y')\nprint(P(1, 2)._replace(x=3))",
    "import collections.abc\nprint(isinstance([], collections.abc.Sequence))",
    "from collections import abc\nprint(isinstance([], abc.Sized))",
    "import itertools\nprint(list(itertools.chain([1], [2])))",
    "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(n): return n",
    "from functools import wraps\ndef d(f):\n    @wraps(f)\n    def g(*a): return f(*a)\n    return g",
    "from functools import partial, reduce\nadd = partial(sum, [1])\nreduce(max, [1, 2])",
    "import statistics\nprint(statistics.mean([1, 2]), statistics.stdev([1, 2]))",
    "from datetime import datetime, timedelta\nprint(datetime(2024, 1, 2) + timedelta(days=1))",
    "import datetime\nprint(datetime.datetime.now(datetime.timezone.utc).isoformat())",
    "from decimal import Decimal\nprint(Decimal('0.1') + Decimal('0.2'))",
    "from fractions import Fraction\nprint(Fraction(1, 3))",
    "import random\nrandom.seed(1)\nprint(random.choice([1, 2]))",
    "import hashlib\nprint(hashlib.sha256(b'x').hexdigest())",
    "import base64\nprint(base64.b64encode(b'x').decode())",
    "import time\nbegan = time.perf_counter()\ntime.sleep(0)",
    "import uuid\nprint(uuid.uuid4().hex)",
    "import heapq\nh = []\nheapq.heappush(h, 3)",
    "import string\nprint(string.Template('$a').substitute(a=1))",
    "import textwrap\nprint(textwrap.dedent('  x'))",
    "from enum import Enum, auto\nclass C(Enum):\n    RED = auto()\nprint(C.RED.name)",
    "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...",
    "import abc\nclass A(metaclass=abc.ABCMeta):\n    pass",
    "from typing import Any, Optional\ndef f(x: Optional[int] = None) -> dict[str, Any]: return {}",
    "from typing import Optional\nclass B: pass\ndef f(kind: Optional[type[B]]) -> type[B]: return B",
    "from __future__ import annotations\ndef f(x: A) -> 'B': return x\nclass A: pass\nclass B: pass",
    "from dataclasses import dataclass, field, asdict\n@dataclass(frozen=True)\nclass P:\n"
    "    x: int\n    tags: list[str] = field(default_factory=list)\nprint(asdict(P(x=1)))",
    "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int = 1\n"
    "    def __post_init__(self): self.y = 2",
    "from dataclasses import dataclass\n@dataclass\nclass Task:\n    input: str\n    open: bool\n"
    "    id: int = 0",
    "class A:\n    def __init__(self): self.x = 1\n    def __repr__(self): return f'A({self.x})'",
    "class A:\n    def __init__(self, n): self.n = n\nclass B(A):\n"
    "    def __init__(self): super().__init__(2)",
    "class A:\n    def __init__(self): pass\nclass B(A):\n    def __init__(self): A.__init__(self)",
    "class A:\n    def __eq__(self, o):\n        return isinstance(o, type(self)) and self is o\n"
    "    __hash__ = None",
    "class A:\n    def name(self): return type(self).__name__",
    "class A:\n    def name(self): return self.__class__.__name__",
    "class A:\n    'Says what it is.'\n    __slots__ = ('x',)\nprint(A.__doc__)",
    "class A:\n    @property\n    def v(self): return 1\n    @staticmethod\n    def s(): pass",
    "class A:\n    def open(self): return self\n    def eval(self): return 1\nA().open().eval()",
    "class A:\n    def __enter__(self): return self\n    def __exit__(self, *e): return False\n"
    "with A() as a: pass",
    "class A:\n    def __iter__(self): yield from (1, 2)\nprint(list(A()))",
    "x = 3\nprint(type(x))\nprint(type(x) is int, type(x) == float, type(x) in (int, str))",
    "def f(input, type, open=None): return [input, type, open]",
    "def f():\n    vars = [1]\n    return vars",
    "print('{} of {:>3}'.format(1, 2))\nprint('{a.real} {b[0]}'.format(a=1, b=[1]))",
    "LINE = 'Name: {name}'\ndef f(n): return LINE.format(name=n)",
    "print('%s of %d' % ('a', 3))\nprint(f'{1 + 1:>{4}} {\"x\"!r}')",
    "class A: pass\nprint(getattr(A(), 'size', 0), hasattr(A, 'size'))\nsetattr(A, 'size', 1)",
    "FIELD = 'size'\nclass A:\n    size = 1\nprint(getattr(A, FIELD))",
    "match [1, 2]:\n    case [x, *rest]: print(x, rest)\n    case {'k': v, **more}: print(v, more)",
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nmatch P(1):\n"
    "    case P(x=1): print('one')",
    "try:\n    1 / 0\nexcept (ZeroDivisionError, ValueError) as error:\n    print(error)\nfinally: pass",
    "import traceback\ntry:\n    raise ValueError('x')\nexcept ValueError:\n    traceback.print_exc()",
    "import logging\nlog = logging.getLogger(__name__)\nlog.info('ready %s', 1)",
    "from contextlib import contextmanager\n@contextmanager\ndef c():\n    yield 1",
    "async def f():\n    return 1\nasync def g():\n    return await f()",
    "def gen():\n    got = yield 1\n    return got\ng = gen()\nnext(g)",
    "a = [x * 2 for x in range(3) if x]\nb = {k: v for k, v in zip('ab', a)}\nc = {*a}\nd = (*a,)",
    "if (n := len([1])) > 0: print(n)",
    "total = 0\nfor i in range(10):\n    total += i\nelse:\n    print(total)\nwhile False: break",
    "def f(a, /, b, *c, d=1, **e) -> None:\n    nonlocal_ = 1\n    def g():\n"
    "        nonlocal nonlocal_\n        nonlocal_ = 2\n    return g()",
    "COUNT = 0\ndef f():\n    global COUNT\n    COUNT += 1",
    "key = lambda pair: pair[1]\nprint(sorted({'a': 1}.items(), key=key))",
    "# os.system, eval( and open( are only words here\nprint('import os; eval(1)')",
    "'''A docstring that says: never call exec() or __import__('os').'''",
    "m\u00e9dia = 3\nprint(f'a m\u00e9dia \u00e9 {m\u00e9dia}, \u2705')",
    "import operator\nprint(sorted([(1, 2)], key=operator.itemgetter(1)))",
    "from urllib.parse import urlparse, quote\nprint(urlparse('https://a.example/x').netloc, quote(' '))",
    "import urllib.parse\nprint(urllib.parse.urlencode({'a': 1}))",
    "from pathlib import PurePosixPath\nprint(PurePosixPath('/a') / 'b')",
    "import csv, io\nout = io.StringIO()\ncsv.writer(out).writerow([1, 2])\nprint(out.getvalue())",
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\nmatch P(1, 2):\n"
    "    case P(1, y): print(y)\n    case int(n) | str(n): print(n)",
    "from enum import Enum, IntEnum\nclass E(str, Enum):\n    A = 'a'\n    def f(self): return self.value\n"
    "def g(x: Enum): return isinstance(x, Enum) and E('a')",
    "class A:\n    __limit = 3\n    def __private(self): return self.__limit\n    def f(self): return self.__private()",
    "from typing import NamedTuple, TypedDict\nclass P(NamedTuple):\n    x: int = 0\nclass T(TypedDict):\n    a: str",
    "from copy import deepcopy\nprint(deepcopy([[1]]))",
    "import threading\nlock = threading.Lock()\nwith lock: pass",
    "from types import SimpleNamespace\nprint(SimpleNamespace(a=1).a)",
    "if __name__ == '__main__':\n    print('run')",
    "__all__ = ['f']\n__version__ = '1'\ndef f(): return " + " + ".join("1" for _ in range(900)),
]


@pytest.mark.parametrize("code", PIECES)
def test_an_ordinary_component_is_accepted(code: str) -> None:
    assert validate_component(marked(code)) == Validation()


def test_the_set_is_as_large_as_it_is_said_to_be() -> None:
    assert len(set(PIECES)) >= 60


@pytest.mark.parametrize("code", [PIECES[1], PIECES[36]])
def test_line_endings_of_other_systems_are_accepted(code: str) -> None:
    assert validate_component(marked(code).replace("\n", "\r\n")).ok


def test_a_cookie_that_says_what_is_so_anyway_is_accepted() -> None:
    assert validate_component(marked("#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\nx = 1")).ok


def test_a_module_that_was_given_by_name_is_accepted_and_what_it_imports_is_not() -> None:
    ordinary = marked("import numpy as np\nfrom numpy.linalg import norm\nnp.zeros(3)\nnorm([1])")
    assert not validate_component(ordinary).ok
    assert validate_component(ordinary, modules=("numpy",)).ok
    for code in ("np.os", "np.linalg.sys", "np._core", "x = np", "np.__dict__", "np.x = 1"):
        assert not validate_component(marked(f"import numpy as np\n{code}"), modules=("numpy",)).ok
