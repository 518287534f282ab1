"""Which options of a database client carry SQL, name a file of it, or lead elsewhere."""

from __future__ import annotations


class Client:
    """How a client takes its SQL: which options carry it, name a file of it, or write elsewhere."""

    def __init__(self, dialect: str, **words: str) -> None:
        self.dialect = dialect
        self.sql = frozenset(words.get("sql", "").split())
        self.files = frozenset(words.get("files", "").split())
        self.writes = frozenset(words.get("writes", "").split())
        self.shells = frozenset(words.get("shells", "").split())
        self.telling = frozenset((words.get("telling", "") + " --help --version -?").split())
        self.libraries = frozenset(words.get("libraries", "").split())
        self.optional = frozenset(words.get("optional", "").split())
        self.takes = (
            frozenset(words.get("takes", "").split())
            | self.sql
            | self.files
            | self.writes
            | self.shells
            | self.libraries
        )
        self.long = bool(words.get("long"))


CLIENTS = {
    "psql": Client(
        "postgres",
        sql="-c --command",
        files="-f --file",
        writes="-o --output -L --log-file",
        telling="-l --list -V",
        takes=(
            "-d --dbname -h --host -p --port -U --username -v --set --variable -F "
            "--field-separator -P --pset "
            "-R --record-separator -T --table-attr"
        ),
    ),
    "mysql": Client(
        "mysql",
        sql="-e --execute --init-command",
        writes="--tee",
        shells="--pager",
        libraries="--plugin-dir --default-auth",
        telling="-V",
        optional="-p --password",
        takes=(
            "-h --host -u --user -P --port -D --database -S --socket --defaults-file "
            "--defaults-extra-file "
            "--defaults-group-suffix --protocol --default-character-set --delimiter --prompt "
            "--ssl-ca --ssl-cert "
            "--ssl-key --ssl-mode --max-allowed-packet --connect-timeout --login-path"
        ),
    ),
    "cqlsh": Client(
        "",
        sql="-e --execute",
        files="-f --file",
        takes=(
            "-u --username -p --password -k --keyspace --cqlshrc --encoding --request-timeout "
            "--connect-timeout --cqlversion --protocol-version"
        ),
    ),
    "clickhouse-client": Client(
        "clickhouse",
        sql="-q --query",
        files="--queries-file",
        takes=(
            "-h --host --port -u --user --password -d --database -C --config-file --config -f "
            "--format "
            "--format_csv_delimiter --max_threads -i --interface --secure-port --param_id "
            "--stacktrace-level"
        ),
    ),
    "snowsql": Client(
        "snowflake",
        sql="-q --query",
        files="-f --filename",
        takes=(
            "-a --accountname -u --username -d --dbname -s --schemaname -r --rolename -w "
            "--warehouse -c --connection -o --option -D --variable -h --host --config --region -p "
            "--port --mfa-passcode --authenticator --private-key-path"
        ),
    ),
    "trino": Client(
        "trino",
        sql="--execute",
        files="-f --file",
        takes=(
            "--server --catalog --schema --user --session --output-format --source "
            "--keystore-path --truststore-path --client-info --timezone"
        ),
    ),
    "hive": Client(
        "hive",
        sql="-e",
        files="-f -i",
        takes="-u --database --hiveconf -hiveconf --hivevar -n -p -d --outputformat -w -k",
    ),
    "impala-shell": Client(
        "",
        sql="-q --query",
        files="-f --query_file",
        writes="-o --output_file",
        takes=(
            "-i --impalad -d --database -u --user -c --config_file --output_delimiter --ca_cert "
            "--protocol"
        ),
    ),
    "cockroach": Client(
        "postgres",
        sql="-e --execute",
        files="-f --file",
        takes=(
            "--url --host --port -p -u --user -d --database --certs-dir --format --set -s "
            "--cluster-name --watch --store --locality --join --listen-addr --http-addr"
        ),
    ),
    "usql": Client(
        "",
        sql="-c --command",
        files="-f --file",
        writes="-o --out",
        takes="-v --set -P --pset -F -R -T --config",
    ),
    "dolt": Client(
        "mysql",
        sql="-q --query",
        files="-f --file",
        takes=(
            "-r --result-format --data-dir --user -u --host --port --password -p --branch -s "
            "--save -m --message"
        ),
    ),
    "litecli": Client(
        "sqlite", sql="-e --execute", takes="-R --prompt -D --database --liteclirc -l --login-path"
    ),
    "vsql": Client(
        "postgres", sql="-c", files="-f", writes="-o", takes="-d -h -p -U -w -v -F -P -R -T -m -g"
    ),
}
SAME = {
    "mariadb": "mysql",
    "mycli": "mysql",
    "pgcli": "psql",
    "edb-psql": "psql",
    "presto": "trino",
    "presto-cli": "trino",
    "beeline": "hive",
    "spark-sql": "hive",
    "clickhouse-local": "clickhouse-client",
}

SQLCMD = Client(
    "tsql",
    sql="-Q -q --query --text -t",
    files="-i --input-file",
    writes="-o --output-file",
    takes=(
        "-S --server -U --user-name -P --password -d --database -s -w -h -v --variables -H -l "
        "-m -r -y -Y -a -c -f -z -Z "
        "--authentication-method -K -D --context --tls --driver-logging-level --column-separator"
    ),
)
