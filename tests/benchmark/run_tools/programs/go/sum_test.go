package sum

import "testing"

var result uint64

func BenchmarkSum(b *testing.B) {
	for n := 0; n < b.N; n++ {
		x := uint64(1)
		for i := uint64(0); i < 20000; i++ {
			x = x*6364136223846793005 + i
		}
		result = x
	}
}
