//! Scratch: follows a server into a model and compares.
#![allow(clippy::all, missing_docs, clippy::print_stdout, clippy::print_stderr)]
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidegate_model::source::*;
use tidegate_model::*;
use tidegate_source_mysql::*;

#[derive(Default)]
struct Mem { plans: Mutex<HashMap<(TableUid,u64,u64),ChunkPlan>>, changes: Mutex<Vec<Arc<SchemaChange>>>, uids: Mutex<Vec<TableName>>, notes: Mutex<Vec<DdlNote>> }
impl Journal for Mem {
  fn plan_chunk(&self,p:&ChunkPlan)->Result<()> { self.plans.lock().unwrap().insert((p.table,p.generation,p.chunk),p.clone()); Ok(()) }
  fn planned_chunk(&self,t:TableUid,g:u64,c:u64)->Result<Option<ChunkPlan>> { Ok(self.plans.lock().unwrap().get(&(t,g,c)).cloned()) }
  fn record_change(&self,c:&Arc<SchemaChange>)->Result<()> { let mut v=self.changes.lock().unwrap();
    if let Some(o)=v.iter().find(|o|o.after.uid==c.after.uid&&o.after.version==c.after.version) { assert_eq!(**o,**c,"other change under version"); return Ok(()) }
    v.push(c.clone()); Ok(()) }
  fn schema_history(&self)->Result<Vec<Arc<SchemaChange>>> { Ok(self.changes.lock().unwrap().clone()) }
  fn table_uid(&self,n:&TableName)->Result<TableUid> { let mut u=self.uids.lock().unwrap(); if let Some(i)=u.iter().position(|x|x==n) { return Ok(TableUid(i as u64+1)) } u.push(n.clone()); Ok(TableUid(u.len() as u64)) }
  fn note_ddl(&self,n:&DdlNote)->Result<()> { let mut v=self.notes.lock().unwrap(); if !v.contains(n) { v.push(n.clone()); } Ok(()) }
  fn ddl_notes(&self,t:TableUid)->Result<Vec<DdlNote>> { let mut v:Vec<_>=self.notes.lock().unwrap().iter().filter(|n|n.table==t).cloned().collect(); v.sort_by_key(|n|n.position); Ok(v) }
  fn known_version(&self,_:TableUid)->u64 { 0 }
}
type Row = BTreeMap<u32,String>; // column id -> text
#[derive(Default)]
struct Model { rows: HashMap<TableUid,BTreeMap<String,Row>>, at: HashMap<(TableUid,String),EventPosition>, offset: Option<Offset>, counts: BTreeMap<String,u64>, verbose: bool, names: HashMap<u32,String>, r_keys: HashMap<(TableUid,u64),std::collections::HashSet<String>> }
fn cell(b:&ChangeBatch,r:usize,c:usize)->String { let mut s=format!("{:?}", b.cell(r,c)); for f in &b.refused { for (rr,cc,t) in &f.texts { if (*rr as usize,*cc as usize)==(r,c) { s=format!("refused {t}") } } } s }
fn key(b:&ChangeBatch,r:usize)->String { b.table.key.iter().map(|&c| cell(b,r,c)).collect::<Vec<_>>().join("|") }
fn row(b:&ChangeBatch,r:usize)->Row { b.table.columns.iter().enumerate().map(|(i,c)|(c.id,cell(b,r,i))).collect() }
impl Model {
  fn bump(&mut self,k:&str){ *self.counts.entry(k.into()).or_default()+=1; }
  fn apply(&mut self, seg:&Segment) {
    let mark = seg.items.iter().find_map(|i| match i { Item::Snapshot(SnapshotMark::Chunk{table,generation,chunk,..})=>Some((*table,*generation,*chunk)), _=>None });
    for item in &seg.items { match item {
      Item::Batch(b) => {
        if self.verbose { println!("  batch {} v{} g{} n={}", b.table.name,b.table.version,b.generation,b.len()); }
        let snap = b.events.operation[0]==Operation::Snapshot;
        if snap { let (t,g,c)=mark.expect("chunk mark"); assert_eq!(t,b.table.uid);
          if let Some(o)=&self.offset { if let Some(s)=o.snapshot.get(&t) { if s.generation>g || (s.generation==g && (s.done || s.chunks>=c)) { self.bump("dup chunk"); continue } } } }
        for e in 0..b.len() {
          let tx=b.transaction(e);
          if !snap { let g=tx.gtid.unwrap(); if let Some(o)=&self.offset { if o.scanned.covers(tx.position.log,&g,b.table.uid,b.events.table_idx[e]) { self.bump("dup row"); continue } } }
          let rows=b.rows_of(e); let first=rows.start; let last=rows.end-1; let pos=b.position(e); let uid=b.table.uid;
          let set=|me:&mut Model,k:String,r:Option<Row>| { let old=me.at.get(&(uid,k.clone())).copied(); if old.is_some_and(|o| o>pos) { *me.counts.entry("older".into()).or_default()+=1; return } me.at.insert((uid,k.clone()),pos);
            let m=me.rows.entry(uid).or_default(); match r { Some(r)=>{m.insert(k,r);}, None=>{m.remove(&k);} } };
          match b.events.operation[e] {
            Operation::Insert => { let k=key(b,last); if self.rows.entry(uid).or_default().contains_key(&k) { *self.counts.entry("insert over".into()).or_default()+=1; } set(self,k,Some(row(b,last))); }
            Operation::Update => { let k=key(b,first); let nk=key(b,last); if k!=nk { set(self,k,None); } set(self,nk,Some(row(b,last))); }
            Operation::Delete => { set(self,key(b,first),None); }
            Operation::Snapshot => { let k=key(b,last); if !self.r_keys.entry((b.table.uid,b.generation)).or_default().insert(k.clone()) { println!("KEY TWICE AS r {k}"); } set(self,k,Some(row(b,last))); }
          }
          self.bump(b.events.operation[e].letter());
        } }
      Item::SchemaChange(c) => { println!("  change {} v{} {:?} {:?} {:?} @{} {:?}", c.after.name,c.after.version,c.kind,c.ops,c.existing_rows,c.position,c.ddl);
          for col in &c.after.columns { self.names.insert(col.id,col.name.clone()); }
          let m=self.rows.entry(c.after.uid).or_default();
          for op in &c.ops { match op { ColumnOp::Drop{id,..}=>for r in m.values_mut(){r.remove(id);}, ColumnOp::Add{id,..}=>{ let d=c.after.columns.iter().find(|x|x.id==*id).unwrap().initial_default.clone(); for r in m.values_mut(){ r.entry(*id).or_insert(d.clone().map(|d|format!("default {d}")).unwrap_or("Null".into())); } }, _=>{} } } }
      Item::Snapshot(s) => if !matches!(s,SnapshotMark::Chunk{..}) || self.verbose { println!("  {s:?}");
           if let SnapshotMark::Begin{table,generation,..}=s { if *generation>1 { self.rows.remove(table); } } },
      Item::Parked(p) => println!("  PARKED {} {} @{}", p.name,p.message,p.position),
      Item::DeadLetter(_) => println!("  dead letter"),
    } }
    if self.verbose { println!("seg {} items {} scanned {:?} commit {:?}", seg.seq, seg.items.len(), seg.end.scanned, seg.commit_time_us); }
    let rank=|o:&Offset|(o.scanned.log,o.scanned.open.as_ref().map_or(0,|x|x.delivered.values().sum::<u64>()));
    let mut new=(*seg.end).clone(); if let Some(old)=&self.offset { if rank(old)>rank(&new) { new=old.clone(); }
      for o in [&*seg.end,old] { for (t,s) in &o.snapshot { let e=new.snapshot.entry(*t).or_default(); if (s.generation,s.chunks,s.done)>(e.generation,e.chunks,e.done) { *e=s.clone(); } } } }
    self.offset=Some(new);
  }
}
fn config(mode:SnapshotMode,id:u32)->SourceConfig { let port=std::env::var("PORT").unwrap_or("33711".into()).parse().unwrap();
  let mut c=SourceConfig::new("127.0.0.1",port,std::env::var("TABLES").unwrap_or("shop.*".into()).split(',').map(|t|t.parse().unwrap()).collect());
  c.user=std::env::var("DBUSER").unwrap_or("tidegate".into()); c.password=Secret::new(std::env::var("DBPASS").unwrap_or("tidegate".into())); c.server_id=id; c.snapshot=mode; c.chunk_rows=std::env::var("CHUNK").unwrap_or("500".into()).parse().unwrap(); c.heartbeat=Duration::from_secs(1);
  if std::env::var("TINY").is_ok() { c.segment.bytes_max=300; c.segment.bytes=100; }
  c }
#[tokio::main]
async fn main() {
  let args:Vec<String>=std::env::args().collect();
  let mode=match args.get(1).map(|s|s.as_str()) { Some("latest")=>SnapshotMode::Latest, Some("only")=>SnapshotMode::SnapshotOnly, _=>SnapshotMode::Initial };
  let secs:u64=args.get(2).map(|s|s.parse().unwrap()).unwrap_or(5);
  let restart_ms:u64=args.get(3).map(|s|s.parse().unwrap()).unwrap_or(0);
  let journal=Arc::new(Mem::default());
  let mut model=Model{verbose:std::env::var("VERBOSE").is_ok(),..Default::default()};
  let mut source=MariaDbSource::new(config(mode,4711));
  match source.preflight().await { Ok(f)=>for f in f { println!("{:?} {:?} {} | {}",f.severity,f.table.map(|t|t.to_string()),f.message,f.fix) }, Err(e)=>{println!("preflight: {e} [{:?}]",e.kind());return} }
  let start=source.open(Start::New,journal.clone()).await;
  let start=match start { Ok(o)=>o, Err(e)=>{println!("open: {e}");return} };
  println!("start {:?}",start.scanned);
  model.offset=Some(start);
  if std::env::var("DRAIN").is_ok() { let st=std::process::Command::new("/tmp/sdata/sql").arg("shop").arg("-e").arg(std::env::var("DRAIN").unwrap()).status(); println!("{st:?}");
   let cpu=||std::fs::read_to_string("/proc/self/stat").unwrap().split_whitespace().skip(13).take(2).map(|x|x.parse::<f64>().unwrap()/100.).sum::<f64>();
   let c0=cpu(); let t=Instant::now(); let mut n=0; let mut segs=0; let mut bytes=0; let mut max=0; loop { match source.next().await { Ok(Some(x))=>{ segs+=1; let before=n; for i in &x.items { if let Item::Batch(b)=i { n+=b.len(); } } bytes+=x.bytes; max=max.max(x.bytes); if n==before && n>0 { break } }, e=>{println!("{e:?}"); break} } }
   println!("{n} events {segs} segments avg {} max {max} wall {:?} cpu {:.2}s rss {}",bytes/segs.max(1),t.elapsed(),cpu()-c0, std::fs::read_to_string("/proc/self/status").unwrap().lines().filter(|l|l.starts_with("VmHWM")).collect::<String>()); return }
  let begun=Instant::now(); let mut saved:Vec<Offset>=vec![]; let mut next_restart=Instant::now()+Duration::from_millis(restart_ms); let mut restarts=0; let mut segs=0u64;
  let mut resnap=std::env::var("RESNAP").ok();
  while begun.elapsed()<Duration::from_secs(secs) {
    if let Some(t)=&resnap { if begun.elapsed()>Duration::from_secs(secs/2) { let (a,b)=t.split_once('.').unwrap(); source.request(SourceRequest::Snapshot(TableName::new(a,b))).await.unwrap(); resnap=None; } }
    match tokio::time::timeout(Duration::from_millis(200),source.next()).await {
      Err(_)=>{}, Ok(Ok(None))=>{println!("done");break}, Ok(Err(e))=>{println!("next: {e} [{:?}]",e.kind());break},
      Ok(Ok(Some(s)))=>{ segs+=1; model.apply(&s); if segs%7==0 { saved.push((*s.end).clone()); if saved.len()>5 { saved.remove(0); } } }
    }
    if restart_ms>0 && Instant::now()>next_restart { next_restart=Instant::now()+Duration::from_millis(restart_ms); restarts+=1;
      let o = if restarts%2==0 { model.offset.clone().unwrap() } else { saved.first().cloned().unwrap_or_else(||model.offset.clone().unwrap()) };
      drop(source); if let Ok(b)=std::env::var("BREAK") { if restarts==2 { let st=std::process::Command::new("/tmp/sdata/sql").arg("-e").arg(b).status(); println!("broke {st:?}"); } } source=MariaDbSource::new(config(mode,4711));
      if let Err(e)=source.open(Start::Resume(Box::new(o)),journal.clone()).await { println!("resume: {e}"); break }
    }
  }
  println!("restarts {restarts} segments {segs} counts {:?} in {:?}",model.counts,begun.elapsed());
  println!("end {:?} snap {:?} held {:?}", model.offset.as_ref().unwrap().scanned, model.offset.as_ref().unwrap().snapshot, model.offset.as_ref().unwrap().held);
  if mode==SnapshotMode::Initial {
    let mut fresh=Model::default(); let mut s=MariaDbSource::new(SourceConfig{server_id:4712,chunk_rows:10000,..config(SnapshotMode::SnapshotOnly,4712)});
    let j2=Arc::new(Mem::default()); for n in journal.uids.lock().unwrap().iter() { j2.table_uid(n).unwrap(); }
    fresh.offset=Some(s.open(Start::New,j2).await.unwrap());
    loop { match s.next().await { Ok(Some(x))=>fresh.apply(&x), Ok(None)=>break, Err(e)=>{println!("fresh: {e}");break} } }
    let tables=source.tables();
    for t in &tables { let a=model.rows.get(&t.uid).cloned().unwrap_or_default(); let b=fresh.rows.get(&t.uid).cloned().unwrap_or_default();
      let ft=s.tables().into_iter().find(|x|x.uid==t.uid); let Some(ft)=ft else { println!("fresh lacks {}",t.name); continue };
      let strip=|r:&Row|->Vec<String>{ ft.columns.iter().map(|c| t.columns.iter().find(|x|x.name==c.name).and_then(|x|r.get(&x.id).cloned()).unwrap_or("MISSING".into())).collect() };
      let mut bad=0; for (k,r) in &a { match b.get(k) { None=>{bad+=1; if bad<5 {println!("  extra {k}");}}, Some(x)=>{ let l=strip(r); let m:Vec<String>=x.values().cloned().collect(); if l.len()!=m.len() || l.iter().zip(&m).any(|(p,q)|p!=q && !p.starts_with("default")) { bad+=1; if bad<5 {println!("  differs {k}: {l:?} / {m:?}");} } } } }
      for k in b.keys() { if !a.contains_key(k) { bad+=1; if bad<10 {println!("  missing {k}");} } }
      println!("{} {}: model {} server {} bad {}", if bad==0 {"OK"} else {"BAD"}, t.name, a.len(), b.len(), bad); }
  }
}
