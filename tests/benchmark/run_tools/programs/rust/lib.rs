pub fn sum(count: u64) -> u64 {
    (0..count).fold(1, |x: u64, i| x.wrapping_mul(6364136223846793005).wrapping_add(i))
}
