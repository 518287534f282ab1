"""The modules that a component may import, and what it may use of each.

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
