"""What leads out of a component is refused, by whatever way it is reached."""

from __future__ import annotations

import pytest

from redoma.judge.languages.component.validate import validate_component
from tests.unit.judge.languages.component.carrying import MARKS, marked

pytestmark = pytest.mark.requirement("C2")

IMPORTS = [
    "import os",
    "import os as harmless",
    "import os.path",
    "import math, os",
    "import subprocess",
    "import sys",
    "import shutil",
    "import socket",
    "import ssl",
    "import http.client",
    "import urllib",
    "import urllib.request",
    "import asyncio",
    "import multiprocessing",
    "import concurrent.futures",
    "import builtins",
    "import builtins as math",
    "import importlib",
    "import importlib.util as json",
    "import ctypes",
    "import pickle",
    "import marshal",
    "import shelve",
    "import codecs",
    "import inspect",
    "import gc",
    "import code",
    "import runpy",
    "import pty",
    "import signal",
    "import tempfile",
    "import glob",
    "import pkgutil",
    "import posix",
    "import sqlite3",
    "import timeit",
    "import zipimport",
    "import __main__",
    "import something_nobody_knows",
    "from os import system",
    "from os import system as mean",
    "from os import path",
    "from sys import modules",
    "from subprocess import *",
    "from math import *",
    "from builtins import eval as ev",
    "from importlib import import_module",
    "from pathlib import Path",
    "from functools import singledispatch",
    "from functools import update_wrapper",
    "from operator import attrgetter",
    "from operator import methodcaller",
    "from typing import get_type_hints",
    "from typing import Type",
    "from dataclasses import make_dataclass",
    "from dataclasses import fields",
    "from contextlib import redirect_stdout",
    "from string import Formatter",
    "from enum import EnumMeta",
    "from types import FunctionType",
    "from types import CodeType",
    "from uuid import uuid1",
    "from io import open as read",
    "from io import FileIO",
    "from statistics import sys",
    "from random import _os",
    "from collections import _sys",
    "from . import neighbour",
    "from .. import os",
    "from .math import sqrt",
    "def f():\n    import os\n    return os",
    "try:\n    import os\nexcept ImportError:\n    pass",
    "class A:\n    import json",
    "if False:\n    import subprocess",
]

BUILTINS = [
    "eval('1')",
    "exec('x = 1')",
    "compile('1', 'a', 'eval')",
    "open('/etc/passwd')",
    "input()",
    "breakpoint()",
    "help()",
    "exit()",
    "quit()",
    "license()",
    "copyright()",
    "__import__('os')",
    "globals()",
    "globals()['__builtins__']",
    "locals()",
    "vars()",
    "dir()",
    "memoryview(b'x')",
    "__builtins__",
    "__builtins__['eval']",
    "__builtins__.eval",
    "__loader__.load_module('os')",
    "__spec__.loader",
    "e = eval",
    "e, x = eval, 1",
    "f = [eval][0]",
    "d = {'run': exec}",
    "(lambda run=eval: run('1'))()",
    "def f(run=eval):\n    return run('1')",
    "def f(x: exec('1')): pass",
    "def f() -> exec('1'): pass",
    "x: exec('1') = 2",
    "@eval\ndef f(): pass",
    "@exec\nclass A: pass",
    "[run('1') for run in [eval]]",
    "if (run := eval): run('1')",
    "match eval:\n    case run: run('1')",
    "map(eval, ['1'])",
    "sorted(['1'], key=eval)",
    "print(file=open('a', 'w'))",
    "with open('a') as file: pass",
    "f'{open(1)}'",
    "f'{eval(\"1\")!r:>{2}}'",
    "class A(eval('object')): pass",
    "assert eval('1')",
    "raise eval('ValueError')",
    "def f():\n    [0 for eval in ()]\n    return eval('1')",
    "def f(eval):\n    class A:\n        eval = eval\n    return A",
    "def f(eval):\n    def g():\n        global eval\n        return eval('1')\n    return g",
    "def f():\n    return (lambda eval: 0), eval('1')",
    "class A:\n    def open(self): pass\n    x = open('a')",
    "eval = eval",
    "open: int = 3",
    "del eval",
    "for exec in (): pass",
    "class R:\n    def __radd__(self, o): return o\nclass B:\n    eval += R()",
    "class R:\n    def __radd__(self, o): return o\ntype += R()",
    "unknown_name('x')",
    "file('/etc/passwd')",
    "raw_input()",
    "print(credits)",
]

ATTRIBUTES = [
    "().__class__",
    "().__class__.__base__.__subclasses__()",
    "().__class__.__mro__[1]",
    "''.__class__.mro()",
    "int.mro()",
    "object.__subclasses__()",
    "print.__self__",
    "len.__self__.eval",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "(lambda: 0).__closure__",
    "(lambda: 0).__builtins__",
    "def f(): yield\nf().gi_frame.f_builtins",
    "def f(): yield\nf().gi_code",
    "async def f(): pass\nf().cr_frame.f_back",
    "async def f(): yield\nf().ag_frame",
    "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame",
    "try:\n    1 / 0\nexcept Exception as e:\n    x = e.__context__.__traceback__",
    "import math\nmath.__loader__",
    "import math\nmath.__dict__",
    "import json\njson.codecs",
    "import json\njson.decoder.scanner",
    "import statistics\nstatistics.sys",
    "import enum\nenum.bltns",
    "import random\nrandom._os",
    "import re\nre.enum",
    "import json as j\nj.codecs.open('x')",
    "import json\nx = json\nx.codecs",
    "import json\ndef f(m): return m.codecs\nf(json)",
    "import json\n[m.codecs for m in (json,)]",
    "import json\nreturned = lambda: json",
    "import collections.abc\nx = collections.abc",
    "import math\nmath.pi = 3",
    "import math\ndel math.pi",
    "import json\njson = 3",
    "import json\ndef f(json): return json.codecs",
    "import math as m\nimport json as m",
    "from json import loads\ndef f(loads): return loads",
    "class A: pass\nA.__dict__",
    "class A: pass\nA().__init__('x')",
    "x = object()\nx.__init__()",
    "x = []\nx.__class__ = int",
    "x = []\nx.__getattribute__('append')",
    "x = []\nx.__reduce_ex__(2)",
    "print.__call__('x')",
    "class A:\n    def f(self): return self.__dict__",
    "class A:\n    def f(self): return __class__",
    "super().__getattribute__('x')",
    "match print:\n    case object(__self__=b): pass",
    "match 1:\n    case int(mro=m): pass",
    "def f(tb_frame): pass",
    "class A:\n    f_builtins: dict",
    "dict(__class__=1)",
]

TEXTS = [
    "getattr(print, '__self__')",
    "getattr(print, '__se' + 'lf__')",
    "getattr(print, ''.join(['__self', '__']))",
    "getattr(print, '__fles__'[::-1])",
    "getattr(print, f'__{\"self\"}__')",
    "getattr(print, '%s' % '__self__')",
    "getattr(print, '{}'.format('__self__'))",
    "getattr(print, chr(95) * 2 + 'self__')",
    "getattr(print, b'__self__'.decode())",
    "getattr(print, bytes([95, 95]).decode())",
    "import base64\ngetattr(print, base64.b64decode('X19zZWxmX18=').decode())",
    "getattr(print, str(reversed('x')))",
    "getattr(print, name := '__self__')",
    "getattr(*(print, '__self__'))",
    "getattr(__builtins__, 'ev' + 'al')",
    "NAME = 'real'\nNAME = '__self__'\ngetattr(print, NAME)",
    "def f(name): return getattr(print, name)",
    "g = getattr",
    "map(getattr, [print], ['__self__'])",
    "import functools\nfunctools.partial(getattr, print)",
    "setattr(print, '__self__', 1)",
    "delattr(print, 'x' + 'y')",
    "hasattr(print, '__self__')",
    "getattr(print, 'format')",
    "'{0.__class__}'.format(1)",
    "'{0.__class__.__mro__}'.format(1)",
    "'{a[__globals__]}'.format(a={})",
    "'{:{0.__class__}}'.format(1)",
    "'{0.gi_frame}'.format(1)",
    "('{0._' + '_class__}').format(1)",
    "def f(template): return template.format(1)",
    "T = '{}'\nT = '{0.__class__}'\nT.format(1)",
    "f = '{0.__class__}'.format",
    "str.format('{0.__class__}', 1)",
    "def f():\n    str = 'x'\n    return str\nstr.format('{0.__class__}', 1)",
    "map(str.format, ['{0.__class__}'], [1])",
    "'{x.__class__}'.format_map({'x': 1})",
    "def f():\n    __doc__ = '{}'\n__doc__.format(print)",
]

CLASSES = [
    "type('A', (), {})",
    "type(1)('2')",
    "t = type(1)",
    "t = type",
    "[type(x) for x in (1,)]",
    "type[int]('A', (), {})",
    "class M(type): pass",
    "class A(metaclass=print): pass",
    "class A(**{'metaclass': print}): pass",
    "from abc import ABCMeta\nABCMeta('A', (), {})",
    "import abc\nM = abc.ABCMeta",
    "class R:\n    def __eq__(self, o): return o('A', (), {})\nR() == type(1)",
    "class R:\n    def __contains__(self, o): return o('A', (), {})\ntype(1) in R()",
    "class R:\n    def __ror__(self, o): return o\ndef f(x: type | R()): pass",
    "class R:\n    def __getitem__(self, o): return o\nr = R()\ndef f(x: r[type]): pass",
    "def print(x): return x\nprint(type(1))",
    "class A:\n    def __getattr__(self, name): return print",
    "def __getattr__(name): return print",
    "class A:\n    def __getattribute__(self, name): return print",
    "class A:\n    def __setattr__(self, name, value): pass",
    "class A:\n    def __reduce__(self): return print, ()",
    "class A:\n    def __del__(self): pass",
    "class A:\n    def __init_subclass__(cls): pass",
    "class A:\n    def __class_getitem__(cls, x): return x",
    "class A:\n    def __instancecheck__(cls, x): return True",
    "class A:\n    def __set_name__(self, owner, name): pass",
    "class A:\n    __match_args__ = ('__globals__',)",
    "class A:\n    __class__ = int",
    "class A:\n    __getattr__ = print",
    "from dataclasses import field\nf = field()",
    "from dataclasses import field\nclass A:\n    x: int = (f := field())",
    "import functools\n@functools.wraps(print, updated=('__globals__',))\ndef f(): pass",
    "from functools import wraps\nw = wraps",
    "super = print\nsuper().__init__()",
    "A = 1\nclass A: pass\nA.__init__(1)",
]

TEXT_ITSELF = [
    "# -*- coding: utf-7 -*-\n",
    "# coding: rot13\n",
    "#!/usr/bin/python\n# vim: set fileencoding=cp037 :\n",
    "\ufeff# coding: latin-1\n",
    "x = '\u202e'",
    "# \u2066 turned",
    "x = 1\0",
    "x = '\ud800'",
    "\u0435val('1')",
    "\uff45\uff56\uff41\uff4c('1')",
    "x\u200b = 1",
    "x = 1  # hidden \r import os",
    "\x1b[2K",
]

# Each of these ran, in some version of this reader, to a place where it could do anything.
LONG_WAYS = [
    "from typing import TypedDict\nfrom dataclasses import dataclass\n"
    "dataclass(TypedDict('T', {'x=print(1)': int}))",
    "from typing import NamedTuple\nN = NamedTuple('N', [('x', int)])",
    "from dataclasses import dataclass\nmake = dataclass",
    "import json as _A__m\n__m = 1\nclass A:\n    def f(self): return __m.codecs",
    "class A:\n    def f(self):\n        global __m\n        import json as __m\n_A__m = 1\n_A__m.codecs",
    "def f(__x): return __x",
    "class A:\n    from functools import wraps\nA.wraps(print, updated=('__globals__',))",
    "from abc import ABC\nfrom dataclasses import dataclass\n@dataclass\nclass A(ABC):\n    format: object\n"
    "A.register(str)\nmatch '{0.__globals__}':\n    case A(f): f(print)",
    "from collections import namedtuple\nfrom abc import ABC\nclass A(namedtuple('N', 'format'), ABC): pass\n"
    "match '{0.__globals__}':\n    case A(f): f(print)",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    format: object\n"
    "match '{0.__globals__}':\n    case A(f): f(print)",
    "match '{0.__globals__}':\n    case str(format=f): f(print)",
    "class R:\n    def __radd__(self, o): return o(print)\n'{0.__globals__}'.format += R()",
    "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: int = field()\n    kept = [x]",
    "from dataclasses import field\nclass A:\n    x: int = field()\nkept = A.x",
    "from dataclasses import dataclass, field\n@dataclass\n@print\nclass A:\n    x: int = field()",
    "from enum import Enum\nX = Enum('X', {'a': 1, '__reduce_ex__': print})",
    "from enum import Enum\nclass E(Enum): pass\nX = E('X', {'a': 1, '__reduce_ex__': print})",
    "from enum import Enum\nclass E(Enum):\n    f = lambda self: 0",
    "from enum import Enum\nclass E(Enum):\n    _ignore_ = ['a']\n    a = 1",
    "from enum import Enum\nclass E(Enum):\n    a = 1\nE._member_names_.clear()",
    "from enum import Enum\nclass E(Enum):\n    a = 1\nE._create_('X', {'__reduce_ex__': print})",
]

ALL = [*LONG_WAYS, *IMPORTS, *BUILTINS, *ATTRIBUTES, *TEXTS, *CLASSES]


@pytest.mark.parametrize("code", ALL)
def test_what_leads_out_of_a_component_is_refused(code: str) -> None:
    found = validate_component(marked(code))
    assert not found.ok
    assert not found.syntax_error, found.problems  # else the case shows nothing


@pytest.mark.parametrize("text", TEXT_ITSELF)
def test_a_text_that_shows_other_code_than_it_runs_is_refused(text: str) -> None:
    assert not validate_component(text + "\n" + MARKS).ok


def test_the_set_is_as_large_as_it_is_said_to_be() -> None:
    assert len(set(ALL)) + len(TEXT_ITSELF) >= 150


def test_a_problem_says_where_it_stands_and_why() -> None:
    found = validate_component(marked("x = 1\ny = '\u00e9'; import os\n"))
    assert [str(problem) for problem in found.problems] == [
        "2:10: the module os reaches files, processes and the environment"
    ]


def test_a_name_that_is_put_together_is_told_where_it_can_be() -> None:
    (problem,) = validate_component(marked("getattr(print, '__se' + 'lf__')")).problems
    assert problem.reason == "getattr with a name that is put together: '__self__'"


def test_every_problem_is_told_in_the_order_of_the_text() -> None:
    found = validate_component(marked("import os\nimport sys\neval('1')"))
    assert [(problem.line, problem.column) for problem in found.problems] == [
        (1, 1),
        (2, 1),
        (3, 1),
    ]


def test_a_syntax_error_is_one_problem_with_its_line() -> None:
    found = validate_component("x = 1\ndef f(:\n    pass\n")
    (problem,) = found.problems
    assert (found.syntax_error, problem.line, problem.column) == (True, 2, 7)
    assert problem.reason.startswith("it is not Python: ")


@pytest.mark.parametrize(
    "code",
    ["(" * 3000, "x = " + "-" * 100_000 + "1", "x = " + "9" * 10_000, "a." * 40_000 + "a"],
)
def test_what_cannot_be_parsed_is_refused_and_raises_nothing(code: str) -> None:
    assert not validate_component(code).ok


def test_what_is_too_large_to_be_read_is_refused() -> None:
    assert not validate_component(MARKS + "x = 1\n" * 60_000).ok
    assert not validate_component(MARKS + "(0)," * 60_000).ok
