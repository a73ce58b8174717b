module example.org/sum

go 1.21
