//! What is refused before any code of a module runs, and what a configuration
//! may do; each message names fault and remedy.

use std::sync::Arc;

use tidegate_model::ErrorKind;
use tidegate_model::transform::{Plan, Transform};

use crate::testing::{Answer, OutColumn, PlanLayout, Type, component, load, probe, probe_text, table};
use crate::{TransformConfig, WasmTransform};

fn refused(module: impl Into<Arc<[u8]>>, kind: ErrorKind, fault: &str, remedy: &str) {
    let error = WasmTransform::load(TransformConfig::new("clean", module)).expect_err("it is refused");
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    assert!(text.contains(fault), "{text}");
    assert!(error.hint_text().is_some_and(|hint| hint.contains(remedy)), "{text}");
    assert!(text.contains("load transform") && text.contains("transform clean"), "{text}");
}

/// A component in text; the contract's own text form of a component is its type.
fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("valid text")
}

#[test]
fn files_that_are_no_component() {
    refused(*b"", ErrorKind::Transform, "not WebAssembly", "component");
    refused(*b"#!/bin/sh", ErrorKind::Transform, "not WebAssembly", "component");
    refused(*b"\n (module)", ErrorKind::Transform, "WebAssembly text", "tidegate transform encode");
    refused(wat("(module)"), ErrorKind::Transform, "core module", "tidegate transform encode");
    refused(*b"\0asm\x0e\0\x01\0", ErrorKind::Transform, "unknown version", "current tools");
    let whole = component(&probe_text(&Answer::NotApplicable));
    refused(&whole[..whole.len() / 2], ErrorKind::Transform, "broken", "rebuild");
}

#[test]
fn foreign_imports_are_named() {
    let text = r#"(component
        (import "wasi:clocks/wall-clock@0.2.6" (instance (export "now" (func (result u64)))))
        (import "tidegate:transform/types@0.1.0" (instance))
        (import "somebody:else/types" (instance (type $t u32) (export "t" (type (eq $t)))))
        (import "somebody:else/files" (instance (export "read" (func)))))"#;
    let fault = "`wasi:clocks/wall-clock@0.2.6`, `somebody:else/files`, which no transform gets";
    refused(wat(text), ErrorKind::Transform, fault, "without WASI");
}

#[test]
fn another_version_or_form_is_told() {
    let other = r#"(component
        (instance $i) (export "tidegate:transform/lifecycle@0.2.0" (instance $i)))"#;
    refused(
        wat(other),
        ErrorKind::Transform,
        "`tidegate:transform` 0.2.0, this agent speaks 0.1.0",
        "rebuild",
    );
    let rows = r#"(component
        (instance $i)
        (export "tidegate:transform/lifecycle@0.1.0" (instance $i))
        (export "tidegate:transform/rows@0.1.0" (instance $i)))"#;
    refused(wat(rows), ErrorKind::Unsupported, "not yet supported", "column-transform");
    let neither = "(component)";
    refused(wat(neither), ErrorKind::Transform, "does not export", "column-transform");
    let wrong = r#"(component
        (instance $i)
        (export "tidegate:transform/lifecycle@0.1.0" (instance $i))
        (export "tidegate:transform/columns@0.1.0" (instance $i)))"#;
    refused(wat(wrong), ErrorKind::Transform, "interfaces differ", "rebuild");
}

#[test]
fn a_module_says_who_it_is() {
    let transform = probe(PlanLayout::default());
    let described = transform.describe();
    assert_eq!((&*described.name, &*described.version), ("probe", "1.2.3"));
    assert_eq!(&**transform.module(), format!("probe@{}", transform.digest().short()));
    assert_eq!(transform.digest().to_string().len(), 64);
}

#[test]
fn configurations() {
    let module = component(&probe_text(&Answer::NotApplicable));
    let mut config = TransformConfig::new("clean", module);
    config.config = serde_json::json!({});
    let empty = WasmTransform::load(config.clone()).unwrap().config_digest();
    config.config = serde_json::Value::Null;
    assert_eq!(WasmTransform::load(config.clone()).unwrap().config_digest(), empty);
    config.config = serde_json::json!([1]);
    assert_eq!(WasmTransform::load(config.clone()).unwrap_err().kind(), ErrorKind::Config);
    config.config = serde_json::json!({ "unknown": 1 });
    let error = WasmTransform::load(config.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("config refused"), "{error}");
    config.config = serde_json::Value::Null;
    config.memory_limit = 64 << 10;
    let error = WasmTransform::load(config).unwrap_err();
    assert!(error.hint_text().unwrap().contains("memory limit"), "{error}");
}

#[test]
fn answers_to_planning() {
    assert_eq!(load(&Answer::NotApplicable).unwrap().plan(&table()).unwrap(), Plan::Pass);
    let error = load(&Answer::Incompatible("no column")).unwrap().plan(&table()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.to_string().contains("no column, transform probe"), "{error}");
    let error = load(&Answer::InvalidConfig("no such key")).unwrap().plan(&table()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);

    let two =
        PlanLayout { outputs: vec![PlanLayout::default().outputs[0].clone(); 2], ..PlanLayout::default() };
    let error = probe(two).plan(&table()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let wild =
        PlanLayout { outputs: vec![vec![OutColumn::input("x", 9, Type::Int64)]], ..PlanLayout::default() };
    let error = probe(wild).plan(&table()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transform);
    assert!(error.to_string().contains("takes over input column 9"), "{error}");
    assert!(error.to_string().contains("table shop.items, version 1"), "{error}");
}

#[test]
fn native_code_is_taken_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = TransformConfig::new("clean", component(&probe_text(&Answer::NotApplicable)));
    config.cache_dir = Some(folder.path().join("native"));
    let files = || std::fs::read_dir(folder.path().join("native")).unwrap().count();
    WasmTransform::load(config.clone()).unwrap();
    assert_eq!(files(), 2, "native code and key");
    WasmTransform::load(config.clone()).unwrap().plan(&table()).unwrap();
    assert_eq!(files(), 2);
    for file in std::fs::read_dir(folder.path().join("native")).unwrap() {
        std::fs::write(file.unwrap().path(), b"damaged").unwrap();
    }
    WasmTransform::load(config).unwrap().plan(&table()).unwrap();
}
