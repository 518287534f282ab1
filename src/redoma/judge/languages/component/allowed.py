"""What a component may use: modules, what of each, builtins, names that stay inside of it.

Names are listed one by one, since a module's attributes are also whatever it imports itself:
`statistics.sys` is `sys`, and `enum.bltns` has `eval`. Not listed either: what takes the name of
an attribute or code as text (`operator.attrgetter`, `functools.singledispatch` by its string
annotations, `typing.get_type_hints`), makes classes from dictionaries, opens files, or starts
programs (`uuid.uuid1`).
"""

from __future__ import annotations

_LISTED = {
    "__future__": "annotations generator_stop",
    "abc": "ABC ABCMeta abstractmethod",
    "array": "array typecodes",
    "base64": """a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode
        b32hexencode b64decode b64encode b85decode b85encode standard_b64decode
        standard_b64encode urlsafe_b64decode urlsafe_b64encode""",
    "binascii": "a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 crc_hqx hexlify unhexlify Error",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "calendar": """calendar day_abbr day_name isleap leapdays month month_abbr month_name monthrange
        monthcalendar timegm weekday""",
    "cmath": """acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf
        isnan log log10 nan nanj phase pi polar rect sin sinh sqrt tan tanh tau""",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple",
    "collections.abc": """AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection
        Container Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping
        MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized
        ValuesView""",
    "contextlib": "ExitStack asynccontextmanager closing contextmanager nullcontext suppress",
    "copy": "copy deepcopy",
    "csv": """DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC reader
        writer""",
    "dataclasses": "FrozenInstanceError InitVar KW_ONLY asdict astuple dataclass field replace",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": """Context Decimal DecimalException DivisionByZero InvalidOperation Overflow
        ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP
        getcontext localcontext setcontext""",
    "difflib": "Differ SequenceMatcher context_diff get_close_matches ndiff unified_diff",
    "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
    "fractions": "Fraction",
    "functools": """cache cached_property cmp_to_key lru_cache partial partialmethod reduce
        total_ordering wraps""",
    "graphlib": "CycleError TopologicalSorter",
    "hashlib": """blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256 sha384 sha3_256
        sha3_512 sha512""",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "hmac": "compare_digest digest new",
    "html": "escape unescape",
    "io": "BytesIO StringIO",
    "ipaddress": """IPv4Address IPv4Network IPv6Address IPv6Network ip_address ip_interface
        ip_network""",
    "itertools": """accumulate batched chain combinations combinations_with_replacement compress
        count cycle dropwhile filterfalse groupby islice pairwise permutations product repeat
        starmap takewhile tee zip_longest""",
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "logging": "CRITICAL DEBUG ERROR INFO WARNING getLogger",
    "math": """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist
        e erf erfc exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose
        isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm
        pi pow prod radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp""",
    "numbers": "Complex Integral Number Rational Real",
    "operator": """abs add and_ concat contains countOf eq floordiv ge getitem gt iadd index indexOf
        inv invert itemgetter le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv
        truth xor""",
    "pathlib": "PurePath PurePosixPath PureWindowsPath",
    "pprint": "pformat pp pprint",
    "random": """Random SystemRandom betavariate choice choices expovariate gammavariate gauss
        getrandbits lognormvariate normalvariate paretovariate randbytes randint random randrange
        sample seed shuffle triangular uniform vonmisesvariate weibullvariate""",
    "re": """A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern RegexFlag S U UNICODE
        VERBOSE X compile error escape findall finditer fullmatch match search split sub subn""",
    "secrets": "choice compare_digest randbelow randbits token_bytes token_hex token_urlsafe",
    "statistics": """NormalDist StatisticsError correlation covariance fmean geometric_mean
        harmonic_mean linear_regression mean median median_grouped median_high median_low mode
        multimode pstdev pvariance quantiles stdev variance""",
    "string": """Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits
        octdigits printable punctuation whitespace""",
    "struct": "Struct calcsize error iter_unpack pack pack_into unpack unpack_from",
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    "threading": "Condition Event Lock RLock Semaphore Thread",
    "time": """gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns
        process_time sleep strftime strptime struct_time time time_ns""",
    "traceback": "format_exc print_exc",
    "types": "MappingProxyType SimpleNamespace",
    "typing": """AbstractSet Annotated Any AnyStr AsyncGenerator AsyncIterable AsyncIterator
        Awaitable Callable ClassVar Collection Concatenate Container Coroutine Counter DefaultDict
        Deque Dict Final FrozenSet Generator Generic Hashable ItemsView Iterable Iterator KeysView
        List Literal LiteralString Mapping MutableMapping MutableSequence MutableSet NamedTuple
        Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec Protocol Required
        Reversible Self Sequence Set Sized SupportsAbs SupportsFloat SupportsIndex SupportsInt
        SupportsRound TYPE_CHECKING Tuple TypeAlias TypeGuard TypeVar TypedDict Union ValuesView
        assert_never cast final overload override""",
    "unicodedata": "bidirectional category combining decimal digit lookup name normalize numeric",
    "urllib.parse": """parse_qs parse_qsl quote quote_plus unquote unquote_plus urlencode urljoin
        urlparse urlsplit urlunparse urlunsplit""",
    "uuid": "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid3 uuid4 uuid5",
    "warnings": "warn",
    "weakref": "WeakKeyDictionary WeakSet WeakValueDictionary ref",
    "zlib": "adler32 compress crc32 decompress",
    "zoneinfo": "ZoneInfo",
}
MODULES = {module: frozenset(names.split()) for module, names in _LISTED.items()}
"""What may be used, by module; packages without an entry of their own are only a way to one."""
PACKAGES = frozenset(name.partition(".")[0] for name in MODULES if "." in name)
ENUMS = frozenset(f"enum.{name}" for name in ("Enum", "Flag", "IntEnum", "IntFlag", "StrEnum"))
ONLY_AS_BASE = ENUMS | {"typing.NamedTuple", "typing.TypedDict"}
"""Attack: called, they make a class from names in a text, and `dataclass` makes code from those."""
ONLY_AS_DECORATOR = frozenset({"dataclasses.dataclass"})
ONLY_AS_METACLASS = frozenset({"abc.ABCMeta"})
ONLY_AS_A_FIELD = frozenset({"dataclasses.field"})
"""Attack: a `Field` renamed to `__class__` has `asdict` read that attribute."""
ONLY_WITH_ONE_ARGUMENT = frozenset({"functools.wraps"})
"""Attack: `wraps(f, updated=("__globals__",))` copies a library's globals into the component's."""
DANGEROUS = {
    "os": "reaches files, processes and the environment",
    "posix": "reaches files, processes and the environment",
    "nt": "reaches files, processes and the environment",
    "subprocess": "starts programs",
    "multiprocessing": "starts processes",
    "pty": "starts programs",
    "sys": "reaches the interpreter and every loaded module",
    "shutil": "copies and deletes files",
    "socket": "reaches the network",
    "ssl": "reaches the network",
    "http": "reaches the network",
    "asyncio": "starts programs and reaches the network",
    "importlib": "imports whatever it is told",
    "imp": "imports whatever it is told",
    "pkgutil": "imports whatever it is told",
    "runpy": "runs files",
    "builtins": "has eval, exec and open",
    "ctypes": "calls into the machine past Python",
    "cffi": "calls into the machine past Python",
    "pickle": "runs whatever the data says",
    "marshal": "makes code from data",
    "shelve": "runs whatever the data says",
    "code": "runs text as code",
    "codeop": "makes code from text",
    "codecs": "opens files and decodes what cannot be read here",
    "inspect": "reaches frames and globals",
    "gc": "reaches every object",
    "signal": "sends signals",
    "tempfile": "writes files",
    "glob": "reads directories",
    "fileinput": "reads files",
    "linecache": "reads files",
    "sqlite3": "opens files",
    "timeit": "runs text as code",
    "resource": "changes limits",
    "mmap": "maps files",
}

SAFE_BUILTINS = frozenset(
    """
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError
    BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError
    ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError
    Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup False FileExistsError
    FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError
    ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
    KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None
    NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError
    SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError UnboundLocalError
    UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning
    UserWarning ValueError Warning ZeroDivisionError
    abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict
    divmod enumerate filter float format frozenset hash hex id int isinstance issubclass iter len
    list map max min next object oct ord pow print property range repr reversed round set slice
    sorted staticmethod str sum super tuple zip
    """.split()
)
FORBIDDEN_NAMES = {
    "eval": "runs text as code",
    "exec": "runs text as code",
    "execfile": "runs a file as code",
    "compile": "makes code from text",
    "__import__": "imports whatever it is told",
    "open": "opens files",
    "file": "opens files",
    "input": "waits for someone to type",
    "raw_input": "waits for someone to type",
    "breakpoint": "starts a debugger",
    "help": "starts a pager",
    "exit": "reaches the interpreter",
    "quit": "reaches the interpreter",
    "license": "reads files",
    "credits": "reads files",
    "copyright": "reads files",
    "globals": "reaches every name, by text",
    "locals": "reaches every name, by text",
    "vars": "reaches every attribute, by text",
    "dir": "lists what lies behind an object",
    "memoryview": "reaches memory behind an object",
    "__builtins__": "has eval, exec and open",
    "__loader__": "reads and imports modules",
    "__spec__": "reaches the import system",
    "__build_class__": "makes classes from code",
}
REFLECTING = {"getattr": (2, 3), "hasattr": (2, 2), "setattr": (3, 3), "delattr": (2, 2)}
"""They take the name of an attribute as text: fine where it is written out, and called at once."""
READABLE_NAMES = frozenset(("__name__", "__doc__", "__debug__"))
BOUND_NAMES = frozenset(("__all__", "__author__", "__doc__", "__slots__", "__version__"))
DESCRIBING = frozenset(("__name__", "__qualname__", "__doc__"))
"""Attributes that only describe: texts, whatever they are read from."""
METHODS = frozenset(
    f"__{name}__"
    for name in """
    abs add aenter aexit aiter and anext await bool bytes call ceil complex contains copy deepcopy
    delitem divmod enter eq exit float floor floordiv format ge getitem gt hash iadd iand ifloordiv
    ilshift imatmul imod imul index init int invert ior ipow irshift isub iter itruediv ixor le len
    length_hint lshift lt matmul missing mod mul ne neg next or pos post_init pow radd rand rdivmod
    repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv
    rxor setitem str sub truediv trunc xor
    """.split()
)
"""What a class may define. Not `__getattr__`, `__reduce__`, `__instancecheck__`, `__del__` and
their like: they run where nobody sees a call."""
INTERNALS = frozenset(
    """
    ag_await ag_code ag_frame ag_running co_code co_consts co_names cr_await cr_code cr_frame
    cr_origin f_back f_builtins f_code f_generator f_globals f_lasti f_lineno f_locals f_trace
    func_closure func_code func_defaults func_dict func_globals gi_code gi_frame gi_yieldfrom
    im_class im_func im_self mro tb_frame tb_lasti tb_next
    """.split()
)
"""Frames, code and tracebacks: from each of them it is one step to every builtin."""
SUNDER_NAMES = frozenset(("_generate_next_value_", "_missing_", "_name_", "_order_", "_value_"))
"""Names that an enumeration may use. Attack: `E._member_names_.clear()` lets it make others."""


def leads_inside(name: str) -> bool:
    """Whether the name is one of the interpreter's own parts, or of an enumeration's."""
    return name in INTERNALS or (_is_sunder(name) and name not in SUNDER_NAMES)


def _is_sunder(name: str) -> bool:
    return len(name) > 2 and name[0] == name[-1] == "_" and not is_dunder(name)


def is_private(name: str) -> bool:
    """Whether a class makes another name of it: `__x` in `class A` is `_A__x`."""
    return name.startswith("__") and not name.endswith("__")


def is_dunder(name: str) -> bool:
    """Whether it is one of Python's own names, as `__class__`."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")
