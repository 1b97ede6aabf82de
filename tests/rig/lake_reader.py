"""Reads a lake with readers that are not ours and prints every cell exactly.

One request a line on standard input, one answer a line on standard output:

    {"duckdb": "select …"}          run the query in DuckDB, in a new database
    {"pyarrow": ["a.parquet", …]}   the rows of these Parquet files, in this order
    {"json_lines": ["a.jsonl", …]}  the rows of these files by Python's own parser
    {"program": "import pyarrow …"} the rows of the pyarrow table that this program leaves in `rows`

    {"columns": [{"name": …, "type": …}, …], "rows": [{name: cell, …}, …]}
    {"error": "…"}

A cell loses nothing on its way into JSON: integers are numbers of any size, floats are
numbers in the shortest form that reads back alike (`NaN`, `Infinity`: strings), decimals are
strings with all their digits, bytes are lower-case hex, dates and times are ISO 8601 with six
digits of a second, in UTC and with a `Z` where the column has a zone.
"""

import contextlib
import datetime
import decimal
import io
import json
import math
import sys
import uuid

import duckdb
import pyarrow
import pyarrow.parquet


def cell(value):
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case decimal.Decimal():
            return format(value, "f")
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case datetime.datetime():
            if value.tzinfo is None:
                return value.isoformat(timespec="microseconds")
            utc = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return utc.isoformat(timespec="microseconds") + "Z"
        case datetime.date():
            return value.isoformat()
        case datetime.time():
            return value.isoformat(timespec="microseconds")
        case uuid.UUID():
            return str(value)
        case list() | tuple():
            return [cell(item) for item in value]
        case dict():
            return {name: cell(item) for name, item in value.items()}
        case _:
            # A type nobody thought of must not be compared by its accidental text.
            raise TypeError(f"no exact form for a {type(value).__name__}")


def table(columns, rows):
    names = [name for name, _ in columns]
    if len(set(names)) != len(names):
        raise ValueError(f"two columns of the same name among {names}")
    return {
        "columns": [{"name": name, "type": kind} for name, kind in columns],
        "rows": [dict(zip(names, map(cell, row))) for row in rows],
    }


def read_duckdb(sql):
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute("set TimeZone = 'UTC'")
        result = connection.execute(sql)
        columns = [(column[0], str(column[1])) for column in result.description]
        return table(columns, result.fetchall())


def read_pyarrow(files):
    columns, rows = {}, []
    for file in files:
        # Not `read_table`: it would take `v=1` folders above the file for partition columns.
        content = pyarrow.parquet.ParquetFile(file).read()
        columns |= {field.name: str(field.type) for field in content.schema}
        rows += [{name: cell(value) for name, value in row.items()} for row in content.to_pylist()]
    return {"columns": [{"name": name, "type": kind} for name, kind in columns.items()], "rows": rows}


def read_json_lines(files):
    columns, rows = {}, []
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                columns |= dict.fromkeys(row, "json")
                rows.append(row)
    return {"columns": [{"name": name, "type": kind} for name, kind in columns.items()], "rows": rows}


def read_program(program):
    names = {}
    # What it prints is for people; here standard output carries answers.
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program, "program", "exec"), names)
    columns = [(field.name, str(field.type)) for field in names["rows"].schema]
    return table(columns, [tuple(row.values()) for row in names["rows"].to_pylist()])


READERS = {
    "duckdb": read_duckdb,
    "pyarrow": read_pyarrow,
    "json_lines": read_json_lines,
    "program": read_program,
}


def main():
    for line in sys.stdin:
        try:
            ((reader, argument),) = json.loads(line).items()
            answer = READERS[reader](argument)
        except Exception as error:  # whatever it was, the test that asked has to see it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer, ensure_ascii=False, allow_nan=False), flush=True)


if __name__ == "__main__":
    main()
