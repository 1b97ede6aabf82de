//! The mapping as a whole, run natively: configuration, schema and events in,
//! rows or messages out.

use serde_json::{Value as Json, json};
use tidegate_guest::testing::{
    Harness, Results, SchemaBuilder, Value, delete, insert, snapshot, table, update,
};
use tidegate_guest::{
    ColumnSource, DataType, DecimalType, Operations, PlanError, RowErrorCode, UnseenEvents,
};

use crate::Mapping;

fn orders() -> SchemaBuilder {
    table("shop.orders")
        .key("id", DataType::Int64)
        .column("cust_nm", DataType::Text)
        .column("qty", DataType::Int32)
        .column("price", DataType::Decimal(DecimalType { precision: 10, scale: 2 }))
        .system()
}

/// A row of `orders`, with the system columns.
fn order(id: i64, cust_nm: impl Into<Value>, qty: impl Into<Value>, price: impl Into<Value>) -> Vec<Value> {
    let mut row = vec![id.into(), cust_nm.into(), qty.into(), price.into()];
    row.extend(["insert".into(), 1_000_000.into(), "000001-1".into(), Value::Null]);
    row
}

fn harness(config: Json) -> Harness<Mapping> {
    Harness::configure(&config.to_string()).unwrap()
}

fn refused_config(config: Json) -> String {
    Harness::<Mapping>::configure(&config.to_string()).err().expect("a refused configuration")
}

fn incompatible(config: Json, schema: SchemaBuilder) -> String {
    match harness(config).plan(schema.build()) {
        Err(PlanError::Incompatible(message)) => message,
        other => panic!("expected `incompatible`, got {other:?}"),
    }
}

fn outputs(config: Json, schema: SchemaBuilder) -> Vec<(String, u8)> {
    let planned = harness(config).plan(schema.build()).unwrap();
    let columns = planned.plan.outputs[0].columns.iter();
    columns.map(|column| (column.name.clone(), column.key_position)).collect()
}

fn names(config: Json, schema: SchemaBuilder) -> Vec<String> {
    outputs(config, schema).into_iter().map(|(name, _)| name).collect()
}

/// Runs inserts of one column `c`.
fn run_column(config: Json, data_type: DataType, cells: &[Value]) -> Results {
    let mut harness = harness(config);
    let planned = harness.plan(table("t").column("c", data_type).build()).unwrap();
    let events: Vec<_> = cells.iter().map(|cell| insert([cell.clone()])).collect();
    harness.transform(&planned, &events).unwrap()
}

/// Casts one value: the value that comes out, or `None` if the row is refused.
fn cast(from: DataType, to: &str, value: impl Into<Value>) -> Option<Value> {
    let results = run_column(json!({"cast": {"c": to}}), from, &[value.into()]);
    match results.errors.first() {
        Some(error) => {
            assert_eq!((error.code, error.column), (RowErrorCode::InvalidValue, Some(0)));
            assert!(results.rows.is_empty());
            None
        }
        None => Some(results.rows[0].cell("c").clone()),
    }
}

#[test]
fn renames_drops_and_system_columns_compute_nothing() {
    let mut harness = harness(json!({
        "rename": {"cust_nm": "customer_name", "$commit-time": "changed_at"}, "drop": ["price"],
    }));
    let planned = harness.plan(orders().build()).unwrap();
    assert!(planned.plan.reads.is_empty());
    assert!(planned.plan.sees.is_empty());
    assert_eq!(planned.plan.unseen, UnseenEvents::PassComputedAsNull);
    assert!(
        planned.plan.outputs[0].columns.iter().all(|column| matches!(column.source, ColumnSource::Input(_)))
    );

    let results =
        harness.transform(&planned, &[update(order(1, "ann", 2, "1.00"), order(1, "bob", 3, "1.00"))]);
    let rows = results.unwrap().rows;
    assert_eq!(rows[0].cell("customer_name"), &"ann".into());
    assert_eq!(rows[1].cell("customer_name"), &"bob".into());
    assert_eq!(rows[1].cell("changed_at"), &1_000_000.into());
    assert_eq!(rows[1].cells.len(), 4);
}

#[test]
fn names_may_be_swapped() {
    let config = json!({"rename": {"cust_nm": "qty", "qty": "cust_nm"}});
    assert_eq!(names(config, orders()), ["id", "qty", "cust_nm", "price"]);
}

#[test]
fn a_table_that_nothing_names_passes_unchanged() {
    let plan = harness(json!({"rename": {"other": "x"}, "cast": {"qty": "int32"}})).plan(orders().build());
    assert_eq!(plan.unwrap_err(), PlanError::NotApplicable);
    assert_eq!(
        Harness::<Mapping>::configure("").unwrap().plan(orders().build()).unwrap_err(),
        PlanError::NotApplicable
    );
}

#[test]
fn casts_are_exact_or_refused() {
    use DataType as T;
    let decimal = |precision, scale| T::Decimal(DecimalType { precision, scale });
    let text = |text: &str| Some(Value::from(text));
    let integer = |value: i64| Some(Value::from(value));

    assert_eq!(cast(T::Int64, "int32", i64::from(i32::MAX)), integer(i64::from(i32::MAX)));
    assert_eq!(cast(T::Int64, "int32", i64::from(i32::MAX) + 1), None);
    assert_eq!(cast(T::Int64, "uint64", -1), None);
    assert_eq!(cast(T::Uint64, "int64", Value::Unsigned(u64::MAX)), None);
    assert_eq!(cast(T::Uint64, "decimal(20,0)", Value::Unsigned(u64::MAX)), text("18446744073709551615"));
    assert_eq!(cast(T::Text, "uint64", "18446744073709551615"), Some(Value::Unsigned(u64::MAX)));
    assert_eq!(cast(T::Text, "int64", "-9223372036854775808"), integer(i64::MIN));
    assert_eq!(cast(T::Text, "int64", "7.00"), integer(7));
    for wrong in ["", " 7", "7.5", "7e1", "0x7", "9223372036854775808", "-"] {
        assert_eq!(cast(T::Text, "int64", wrong), None, "{wrong:?}");
    }
    assert_eq!(cast(T::Int64, "text", i64::MIN), text("-9223372036854775808"));
    assert_eq!(cast(decimal(10, 2), "int64", "12.00"), integer(12));
    assert_eq!(cast(decimal(10, 2), "int64", "12.50"), None);
    assert_eq!(cast(T::Text, "decimal(5,2)", "-007.5"), text("-7.50"));
    assert_eq!(cast(T::Text, "decimal(5,2)", "-0"), text("0.00"));
    assert_eq!(cast(T::Text, "decimal(5,2)", "1234.5"), None);
    assert_eq!(cast(decimal(10, 3), "decimal(10,2)", "1.005"), None);
    assert_eq!(cast(decimal(10, 3), "decimal(10,2)", "1.500"), text("1.50"));

    assert_eq!(cast(T::Int64, "float64", 1 << 60), Some(Value::Float((1_i64 << 60) as f64)));
    assert_eq!(cast(T::Int64, "float64", (1 << 53) + 1), None);
    assert_eq!(cast(T::Int32, "float32", (1 << 24) + 1), None);
    assert_eq!(cast(decimal(10, 2), "float64", "19.99"), Some(Value::Float(19.99)));
    assert_eq!(cast(T::Text, "float64", "1e-7"), Some(Value::Float(1e-7)));
    assert_eq!(cast(T::Text, "float64", "1e999"), None);
    assert_eq!(cast(T::Text, "float64", "0.10000000000000000001"), None);
    assert_eq!(cast(T::Float64, "float32", 0.1), None);
    assert_eq!(cast(T::Float64, "int64", 3.0), integer(3));
    assert_eq!(cast(T::Float64, "int64", f64::NAN), None);
    assert_eq!(cast(T::Float64, "text", f64::NEG_INFINITY), text("-Infinity"));
    assert_eq!(cast(T::Float32, "text", f64::from(0.1_f32)), text("0.1"));

    assert_eq!(cast(T::Boolean, "int16", true), integer(1));
    assert_eq!(cast(T::Boolean, "decimal(3,1)", true), text("1.0"));
    assert_eq!(cast(T::Int16, "boolean", 2), None);
    assert_eq!(cast(T::Text, "boolean", "f"), Some(Value::Boolean(false)));

    assert_eq!(cast(T::Date, "text", 0), text("1970-01-01"));
    assert_eq!(cast(T::Date, "timestamp", 1), integer(86_400_000_000));
    assert_eq!(cast(T::Timestamp, "date", -86_400_000_000), integer(-1));
    assert_eq!(cast(T::Timestamp, "date", 1), None);
    assert_eq!(cast(T::Timestamptz, "text", -1), text("1969-12-31T23:59:59.999999Z"));
    assert_eq!(cast(T::Time, "text", -3_020_399_000_000), text("-838:59:59.000000"));
    assert_eq!(cast(T::Text, "timestamptz", "2026-11-29 17:41:00"), None);

    assert!(cast(T::Text, "uuid", "123e4567-e89b-12d3-a456-426614174000").is_some());
    assert_eq!(cast(T::Text, "uuid", "123e4567"), None);
    assert!(cast(T::Text, "json", "{\"a\":1}").is_some());
    assert_eq!(cast(T::Text, "json", "{a"), None);
    assert_eq!(cast(T::Binary, "text", Value::Binary(vec![0xff])), None);
    assert_eq!(cast(T::Other("inet".into()), "text", "10.0.0.1"), text("10.0.0.1"));
}

#[test]
fn only_the_bad_row_of_a_cast_is_refused_and_its_value_is_not_told() {
    let cells = ["1".into(), "x".into(), Value::Null, Value::Absent];
    let results = run_column(json!({"cast": {"c": "int64"}}), DataType::Text, &cells);
    assert_eq!(results.errors.len(), 1);
    assert_eq!(results.errors[0].row, 1);
    assert_eq!(results.errors[0].message, "column `c` has no exact int64 value");
    let kept: Vec<_> = results.rows.iter().map(|row| row.cell("c").clone()).collect();
    assert_eq!(kept, [1.into(), Value::Null, Value::Absent]);
}

#[test]
fn a_default_fills_nulls_but_not_absent_cells() {
    let filled = |config, data_type, value: Value| {
        let results = run_column(config, data_type, &[Value::Null, Value::Absent, value]);
        results.rows.iter().map(|row| row.cell("c").clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        filled(json!({"default": {"c": 0}}), DataType::Int64, 7.into()),
        [0.into(), Value::Absent, 7.into()]
    );
    assert_eq!(
        filled(json!({"default": {"c": "none"}}), DataType::Text, "a".into()),
        ["none".into(), Value::Absent, "a".into()]
    );
    let price = DataType::Decimal(DecimalType { precision: 10, scale: 2 });
    assert_eq!(
        filled(json!({"default": {"c": 1.5}}), price, "2.00".into()),
        ["1.50".into(), Value::Absent, "2.00".into()]
    );
    assert_eq!(
        filled(json!({"cast": {"c": "int64"}, "default": {"c": -1}, }), DataType::Text, "5".into()),
        [(-1).into(), Value::Absent, 5.into()]
    );
}

#[test]
fn a_default_makes_the_output_not_null_and_must_fit_the_type() {
    let planned = harness(json!({"default": {"qty": 0}})).plan(orders().build()).unwrap();
    assert!(!planned.plan.outputs[0].columns[2].nullable);
    let message = incompatible(json!({"default": {"qty": "many"}}), orders());
    assert_eq!(
        message,
        "table shop.orders, schema version 1: the default \"many\" of column `qty` is no int32"
    );
    // A column that is never null is left alone.
    let plan = harness(json!({"default": {"id": 0}})).plan(orders().build());
    assert_eq!(plan.unwrap_err(), PlanError::NotApplicable);
}

#[test]
fn masks_come_after_the_cast_and_need_a_text() {
    let config = json!({"cast": {"qty": "text"}, "mask": {"qty": {"keep_last": 1}, "cust_nm": {}}});
    let mut harness = harness(config);
    let planned = harness.plan(orders().build()).unwrap();
    let rows = harness.transform(&planned, &[snapshot(order(1, "añn", 123, "1.00"))]).unwrap().rows;
    assert_eq!(rows[0].cell("qty"), &"**3".into());
    assert_eq!(rows[0].cell("cust_nm"), &"***".into());
    assert!(
        incompatible(json!({"mask": {"qty": {}}}), orders()).contains("of type int32; cast it to text first")
    );
}

#[test]
fn templates_see_casts_and_defaults_but_not_masks() {
    let config = json!({
        "default": {"qty": 0}, "mask": {"cust_nm": {}}, "drop": ["id", "qty"],
        "compute": {"id": "{id}/{cust_nm}-{qty}"}, "key": [],
    });
    let mut harness = harness(config);
    let planned = harness.plan(orders().build()).unwrap();
    let events = [
        insert(order(1, "ann", Value::Null, "1.00")),
        delete(order(2, Value::Null, 3, "1.00")),
        insert(order(3, Value::Absent, Value::Null, "1.00")),
    ];
    let rows = harness.transform(&planned, &events).unwrap().rows;
    assert_eq!(rows[0].cell("id"), &"1/ann-0".into());
    assert_eq!(rows[0].cell("cust_nm"), &"***".into());
    assert_eq!(rows[1].cell("id"), &Value::Null);
    assert_eq!(rows[2].cell("id"), &Value::Absent);
    assert_eq!(planned.plan.sees, Operations::all());
}

#[test]
fn the_key_is_named_by_output_columns() {
    let key = |config, schema| {
        let keyed = outputs(config, schema).into_iter().filter(|(_, position)| *position > 0);
        keyed.collect::<Vec<_>>()
    };
    let named = |name: &str, position| (name.to_owned(), position);
    assert_eq!(key(json!({"rename": {"id": "no"}}), orders()), [named("no", 1)]);
    assert_eq!(
        key(json!({"compute": {"uid": "o-{id}"}, "key": ["uid"], "drop": ["id"]}), orders()),
        [named("uid", 1)]
    );
    let shops = || table("s").key("shop", DataType::Text).key("no", DataType::Int64);
    assert_eq!(key(json!({"key": ["no", "shop"]}), shops()), [named("shop", 2), named("no", 1)]);
    assert_eq!(key(json!({"key": []}), orders()), []);
    // For all tables: ignored where it does not apply.
    assert_eq!(key(json!({"key": ["sku"], "rename": {"qty": "n"}}), orders()), [named("id", 1)]);
    assert!(
        incompatible(json!({"per_table": {"shop.orders": {"key": ["idd"]}}}), orders())
            .contains("did you mean `id`")
    );
    assert!(incompatible(json!({"key": ["qty"]}), orders()).contains("key column `qty` may be null"));
    assert!(incompatible(json!({"drop": ["id"]}), orders()).contains("key column `id` is dropped"));
}

#[test]
fn unlisted_columns_may_be_dropped() {
    let config = json!({"unlisted_columns": "drop", "keep": ["id"], "rename": {"cust_nm": "name"}});
    assert_eq!(names(config, orders()), ["id", "name"]);
}

#[test]
fn a_tables_own_rules_lie_on_top() {
    let config = json!({
        "rename": {"cust_nm": "customer"}, "drop": ["price", "qty"], "unlisted_columns": "pass",
        "per_table": {"shop.orders": {"rename": {"cust_nm": "buyer"}, "keep": ["price"]}},
    });
    assert_eq!(names(config.clone(), orders()), ["id", "buyer", "price"]);
    let others = table("shop.others").key("id", DataType::Int64).column("cust_nm", DataType::Text);
    assert_eq!(names(config, others), ["id", "customer"]);
}

#[test]
fn unlisted_tables_may_be_dropped() {
    let mut harness =
        harness(json!({"unlisted_tables": "drop", "per_table": {"shop.orders": {"drop": ["qty"]}}}));
    let schema = table("shop.others").key("id", DataType::Int64).build();
    let planned = harness.plan(schema).unwrap();
    assert_eq!((planned.plan.sees, planned.plan.unseen), (Operations::empty(), UnseenEvents::Drop));
    assert!(harness.transform(&planned, &[insert([1.into()])]).unwrap().rows.is_empty());
    assert!(harness.plan(orders().build()).is_ok());
}

#[test]
fn ddl_against_a_tables_own_rules_is_incompatible() {
    let config = json!({"per_table": {"shop.orders": {"rename": {"cust_nm": "customer_name"}}}});
    let after_ddl =
        table("shop.orders").key("id", DataType::Int64).column("cust_nme", DataType::Text).version(8);
    assert_eq!(
        incompatible(config, after_ddl),
        "table shop.orders, schema version 8: `rename` names column `cust_nm`, which the table does not have \
         (did you mean `cust_nme`?); change the mapping"
    );
    // A new column that collides with an output name.
    let config = json!({"rename": {"cust_nm": "qty"}});
    assert!(incompatible(config, orders()).contains("two output columns are named `qty`"));
    // A type that has no cast.
    assert!(
        incompatible(json!({"cast": {"qty": "date"}}), orders())
            .contains("`qty` of type int32 cannot be cast to date")
    );
}

#[test]
fn configuration_problems_are_reported_at_once_with_the_nearest_key() {
    let message = refused_config(json!({
        "renam": {}, "cast": {"a": "int46"}, "mask": {"b": {"kep_last": 4}}, "drop": "c",
        "compute": {"$x": "{a}"}, "per_table": {"t": {"unlisted_tables": "drop"}}, "unlisted_columns": "keep",
        "rename": {"$commit_time": "t"},
    }));
    for problem in [
        "unknown key `renam` (did you mean `rename`?)",
        "`cast.a`: unknown type `int46` (did you mean `int16`?)",
        "`mask.b`: unknown key `kep_last` (did you mean `keep_last`?)",
        "`drop` must be a list of column names",
        "`compute.$x`: `$x`: names with `$` belong to system columns",
        "unknown key `per_table.t.unlisted_tables`",
        "`unlisted_columns` must be `pass` or `drop`",
        "unknown system column `$commit_time` (did you mean `$commit-time`?)",
    ] {
        assert!(message.contains(problem), "{problem:?} is not in {message:?}");
    }
    assert!(
        refused_config(json!({"drop": ["a"], "rename": {"a": "b"}}))
            .contains("renamed, masked or kept as well")
    );
    assert!(refused_config(json!({"unlisted_tables": "drop"})).contains("would drop every table"));
    assert!(refused_config(json!([])).contains("must be a map"));
}
