;; A transform that does to a row what the row's own number says.
;;
;; It reads columns (integer, text) and computes two: the integer doubled, the
;; text as it is. Some integers make it misbehave; see the list in `$transform`.
;; %PLAN% is replaced by the bytes that `plan-table` answers, at 4096.
(module
  (import "tidegate:transform/log@0.1.0" "write" (func $log (param i32 i32 i32 i32 i32)))
  (import "tidegate:transform/metrics@0.1.0" "add" (func $count (param i32 i32 i64)))
  (import "tidegate:transform/state@0.1.0" "add" (func $state_add (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 2)

  (data (i32.const 512) "probe1.2.3config refusedno goodcallsmust not be seen")
  ;; 512 probe, 517 1.2.3, 522 config refused, 536 no good, 543 calls, 548 must not be seen
  (data (i32.const 4096) "%PLAN%")

  (global $heap (mut i32) (i32.const 65536))
  (global $transients (mut i32) (i32.const 3))
  (global $calls (mut i32) (i32.const 0))

  (func $alloc (param $bytes i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $bytes)))
    (block $fits
      (loop $grow
        (br_if $fits (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
        (drop (memory.grow (i32.const 16)))
        (br $grow)))
    (local.get $at))

  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (call $alloc (local.get 3)))

  (func (export "tidegate:transform/lifecycle@0.1.0#describe") (result i32)
    (i32.store (i32.const 1024) (i32.const 512)) (i32.store (i32.const 1028) (i32.const 5))
    (i32.store (i32.const 1032) (i32.const 517)) (i32.store (i32.const 1036) (i32.const 5))
    (i32.store (i32.const 1040) (i32.const 0)) (i32.store (i32.const 1044) (i32.const 0))
    (i32.const 1024))

  ;; Refuses any configuration but the empty one, and traps unless `state` is denied.
  (func (export "tidegate:transform/lifecycle@0.1.0#configure") (param i32) (param $length i32) (result i32)
    (call $state_add (i32.const 543) (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 1200))
    (if (i32.or (i32.ne (i32.load8_u (i32.const 1200)) (i32.const 1))
                (i32.ne (i32.load8_u (i32.const 1204)) (i32.const 0)))
      (then unreachable))
    (i32.store8 (i32.const 1100) (i32.ne (local.get $length) (i32.const 2)))
    (i32.store (i32.const 1104) (i32.const 522)) (i32.store (i32.const 1108) (i32.const 14))
    (i32.const 1100))

  (func (export "tidegate:transform/lifecycle@0.1.0#plan-table") (param i32 i32 i64 i32 i32) (result i32)
    (i32.const 4096))

  (func (export "tidegate:transform/lifecycle@0.1.0#migrate") (param i32 i32 i32) (result i32)
    unreachable)

  (func $failed (param $case i32) (result i32)
    (i32.store8 (i32.const 1300) (i32.const 1))
    (i32.store8 (i32.const 1304) (local.get $case))
    (i32.store (i32.const 1308) (i32.const 548)) (i32.store (i32.const 1312) (i32.const 16))
    (i32.const 1300))

  (func $hungry (loop $more (drop (memory.grow (i32.const 16))) (br $more)))

  (func $slow (local $i i32)
    (loop $more
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 120000000)))))

  (func $transform (export "tidegate:transform/columns@0.1.0#transform")
    (param $plan i32) (param $rows i32) (param $events i32) (param i32) (param $images i32) (param i32)
    (param $operations i32) (param i32) (param $columns i32) (param i32) (result i32)
    (local $i i32) (local $n i32) (local $v i64)
    (local $ints i32) (local $marks i32) (local $offsets i32) (local $bytes i32) (local $text_marks i32)
    (local $out_ints i32) (local $out_marks i32) (local $out_offsets i32) (local $out_bytes i32)
    (local $out_text_marks i32) (local $keep i32) (local $errors i32) (local $error i32) (local $error_count i32)
    (local $start i32) (local $length i32) (local $at i32) (local $spoil i32)
    (call $log (i32.const 2) (i32.const 548) (i32.const 16) (i32.const 0) (i32.const 0))
    (call $count (i32.const 543) (i32.const 5) (i64.const 1))
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (local.set $ints (i32.load offset=12 (local.get $columns)))
    (local.set $marks (select (i32.load (local.get $columns)) (i32.const 0) (i32.load offset=4 (local.get $columns))))
    (local.set $text_marks
      (select (i32.load offset=28 (local.get $columns)) (i32.const 0) (i32.load offset=32 (local.get $columns))))
    (local.set $offsets (i32.load offset=40 (local.get $columns)))
    (local.set $bytes (i32.load offset=48 (local.get $columns)))
    (local.set $out_ints (call $alloc (i32.mul (local.get $rows) (i32.const 8))))
    (local.set $out_marks (call $alloc (local.get $rows)))
    (local.set $out_offsets (call $alloc (i32.mul (i32.add (local.get $rows) (i32.const 1)) (i32.const 4))))
    (local.set $out_bytes (call $alloc (i32.load offset=52 (local.get $columns))))
    (local.set $out_text_marks (call $alloc (local.get $rows)))
    (local.set $keep (call $alloc (i32.mul (local.get $rows) (i32.const 4))))
    (local.set $errors (call $alloc (i32.mul (local.get $rows) (i32.const 24))))
    (i32.store (local.get $out_offsets) (i32.const 0))
    (block $end
      (loop $next
        (br_if $end (i32.eq (local.get $i) (local.get $rows)))
        (local.set $v (i64.load (i32.add (local.get $ints) (i32.mul (local.get $i) (i32.const 8)))))
        ;; 13 traps, 14 never ends, 15 eats memory, 23 takes long
        (if (i64.eq (local.get $v) (i64.const 13)) (then unreachable))
        (if (i64.eq (local.get $v) (i64.const 14)) (then (loop $forever (br $forever))))
        (if (i64.eq (local.get $v) (i64.const 15)) (then (call $hungry)))
        (if (i64.eq (local.get $v) (i64.const 23)) (then (call $slow)))
        ;; 16 is refused
        (if (i64.eq (local.get $v) (i64.const 16))
          (then
            (local.set $error (i32.add (local.get $errors) (i32.mul (local.get $error_count) (i32.const 24))))
            (i32.store (local.get $error) (local.get $i))
            (i32.store8 offset=4 (local.get $error) (i32.const 1))
            (i32.store8 offset=8 (local.get $error) (i32.const 1))
            (i32.store offset=12 (local.get $error) (i32.const 0))
            (i32.store offset=16 (local.get $error) (i32.const 536))
            (i32.store offset=20 (local.get $error) (i32.const 7))
            (local.set $error_count (i32.add (local.get $error_count) (i32.const 1)))))
        ;; 17 spoils an offset, 18 a character, 25 a mark, 26 the number of computed columns
        (if (i64.eq (local.get $v) (i64.const 17)) (then (local.set $spoil (i32.const 1))))
        (if (i64.eq (local.get $v) (i64.const 18)) (then (local.set $spoil (i32.const 2))))
        (if (i64.eq (local.get $v) (i64.const 25)) (then (local.set $spoil (i32.const 3))))
        (if (i64.eq (local.get $v) (i64.const 26)) (then (local.set $spoil (i32.const 4))))
        ;; 20 asks three times for another try, 21 is permanent, 22 fatal
        (if (i32.and (i64.eq (local.get $v) (i64.const 20)) (i32.gt_s (global.get $transients) (i32.const 0)))
          (then
            (global.set $transients (i32.sub (global.get $transients) (i32.const 1)))
            (return (call $failed (i32.const 0)))))
        (if (i64.eq (local.get $v) (i64.const 21)) (then (return (call $failed (i32.const 1)))))
        (if (i64.eq (local.get $v) (i64.const 22)) (then (return (call $failed (i32.const 2)))))
        ;; 24 traps on an instance that has run before
        (if (i32.and (i64.eq (local.get $v) (i64.const 24)) (i32.gt_s (global.get $calls) (i32.const 1)))
          (then unreachable))
        ;; 19 is dropped
        (if (i64.ne (local.get $v) (i64.const 19))
          (then
            (i32.store (i32.add (local.get $keep) (i32.mul (local.get $n) (i32.const 4))) (local.get $i))
            (i64.store (i32.add (local.get $out_ints) (i32.mul (local.get $n) (i32.const 8)))
              (i64.mul (local.get $v) (i64.const 2)))
            (if (local.get $marks)
              (then (i32.store8 (i32.add (local.get $out_marks) (local.get $n))
                (i32.load8_u (i32.add (local.get $marks) (local.get $i))))))
            (if (local.get $text_marks)
              (then (i32.store8 (i32.add (local.get $out_text_marks) (local.get $n))
                (i32.load8_u (i32.add (local.get $text_marks) (local.get $i))))))
            (local.set $error (i32.add (local.get $offsets) (i32.mul (local.get $i) (i32.const 4))))
            (local.set $start (i32.load (local.get $error)))
            (local.set $length (i32.sub (i32.load offset=4 (local.get $error)) (local.get $start)))
            (memory.copy (i32.add (local.get $out_bytes) (local.get $at))
              (i32.add (local.get $bytes) (local.get $start)) (local.get $length))
            (local.set $at (i32.add (local.get $at) (local.get $length)))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (i32.store (i32.add (local.get $out_offsets) (i32.mul (local.get $n) (i32.const 4))) (local.get $at))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (if (i32.eq (local.get $spoil) (i32.const 1))
      (then (i32.store offset=4 (local.get $out_offsets) (i32.const 0x7fffffff))))
    (if (i32.eq (local.get $spoil) (i32.const 2)) (then (i32.store8 (local.get $out_bytes) (i32.const 0xff))))
    (if (i32.eq (local.get $spoil) (i32.const 3))
      (then
        (local.set $marks (i32.const 1))
        (i32.store8 (local.get $out_marks) (i32.const 7))))
    ;; column 0
    (i32.store (i32.const 1400) (local.get $out_marks))
    (i32.store (i32.const 1404) (select (local.get $n) (i32.const 0) (local.get $marks)))
    (i32.store8 (i32.const 1408) (i32.const 1))
    (i32.store (i32.const 1412) (local.get $out_ints)) (i32.store (i32.const 1416) (local.get $n))
    ;; column 1
    (i32.store (i32.const 1428) (local.get $out_text_marks))
    (i32.store (i32.const 1432) (select (local.get $n) (i32.const 0) (local.get $text_marks)))
    (i32.store8 (i32.const 1436) (i32.const 4))
    (i32.store (i32.const 1440) (local.get $out_offsets))
    (i32.store (i32.const 1444) (i32.add (local.get $n) (i32.const 1)))
    (i32.store (i32.const 1448) (local.get $out_bytes)) (i32.store (i32.const 1452) (local.get $at))
    ;; output
    (i32.store8 (i32.const 1300) (i32.const 0))
    (i32.store8 (i32.const 1304) (i32.ne (local.get $n) (local.get $rows)))
    (i32.store (i32.const 1308) (local.get $keep)) (i32.store (i32.const 1312) (local.get $n))
    (i32.store (i32.const 1316) (i32.const 0)) (i32.store (i32.const 1320) (i32.const 0))
    (i32.store (i32.const 1324) (i32.const 1400))
    (i32.store (i32.const 1328) (select (i32.const 1) (i32.const 2) (i32.eq (local.get $spoil) (i32.const 4))))
    (i32.store (i32.const 1332) (local.get $errors)) (i32.store (i32.const 1336) (local.get $error_count))
    (i32.const 1300))

  (func (export "cabi_post_tidegate:transform/columns@0.1.0#transform") (param i32)
    (global.set $heap (i32.const 65536)))
)
