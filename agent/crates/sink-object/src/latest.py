import base64
import datetime
import decimal
import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PLAN = json.loads(r'''@PLAN@''')
FACTS = {"__op": pa.string(), "__pos": pa.string(), "__idx": pa.int64(), "__generation": pa.int64()}


def arrow_type(name):
    kind, *parameters = name.split()
    return getattr(pa, kind)(*(int(p) if p.isdigit() else p for p in parameters))


def cell(value, to):
    """A cell of a JSON line as a Python value of an Arrow type."""
    if value is None:
        return None
    if pa.types.is_decimal(to):
        return decimal.Decimal(value)
    if pa.types.is_binary(to):
        return base64.b64decode(value)
    if pa.types.is_date(to):
        return datetime.date.fromisoformat(value)
    if pa.types.is_timestamp(to):
        return datetime.datetime.fromisoformat(value)
    if pa.types.is_floating(to):
        return float(value)
    return value


def converted(array, to):
    """Values in another type, null where one has no form in it."""
    if array.type == to:
        return array
    try:
        return array.cast(to)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass

    def one(value):
        try:
            return pa.array([value], array.type).cast(to)[0].as_py()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None

    return pa.array([one(value) for value in array.to_pylist()], to)


def read(path, group):
    """One file's rows under the current columns, with the facts that order them."""
    if group["parquet"]:
        file = pq.ParquetFile(path).read()
        column = lambda name, to: converted(file[name].combine_chunks(), to)
        count = file.num_rows
    else:
        with open(path, encoding="utf-8") as lines:
            file = [json.loads(line) for line in lines]
        column = lambda name, to: pa.array([cell(row.get(name), to) for row in file], to)
        count = len(file)
    arrays = {}
    for source, current in zip(group["sources"], PLAN["columns"]):
        to = arrow_type(current["type"])
        if "name" in source:
            arrays[current["name"]] = converted(column(source["name"], arrow_type(source["type"])), to)
        else:
            arrays[current["name"]] = pa.array([cell(source["value"], to)] * count, to)
    arrays |= {name: column(name, to) for name, to in FACTS.items()}
    return pa.table(arrays)


schema = pa.schema([(c["name"], arrow_type(c["type"])) for c in PLAN["columns"]] + list(FACTS.items()))
events = pa.concat_tables([schema.empty_table()] + [read(p, g) for g in PLAN["groups"] for p in g["paths"]])
events = events.filter(pc.greater_equal(events["__generation"], PLAN["generation"]))
events = events.append_column("__live", pc.cast(pc.not_equal(events["__op"], "d"), pa.int8()))
order = ["__pos", "__idx", "__generation", "__live"]
events = events.take(pc.sort_indices(events, sort_keys=[(name, "ascending") for name in order]))
if PLAN["key"]:
    events = events.append_column("__row", pa.array(range(events.num_rows), pa.int64()))
    last = events.group_by(PLAN["key"]).aggregate([("__row", "max")])["__row_max"]
    events = events.take(last)
    events = events.filter(pc.equal(events["__live"], 1)).sort_by([(name, "ascending") for name in PLAN["key"]])
    rows = events.select([c["name"] for c in PLAN["columns"]])
else:
    rows = events.select(schema.names)
print(rows)
