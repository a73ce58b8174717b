use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion};

fn bench(criterion: &mut Criterion) {
    criterion.bench_function("sum", |bencher| bencher.iter(|| sum::sum(black_box(20_000))));
}

criterion_group!(benches, bench);
criterion_main!(benches);
