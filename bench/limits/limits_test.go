// Package limits measures what the machine itself takes for the steps that a broker can't avoid. The
// cost model in docs/performance.md sets a broker's figures against these.
package limits

import (
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

var sizes = []int{2 << 10, 16 << 10, 512 << 10}

// fileBytes is how much is written before the file is written again from its start.
const fileBytes = 256 << 20

func each(b *testing.B, f func(b *testing.B, size int)) {
	for _, size := range sizes {
		b.Run(strconv.Itoa(size>>10)+"KiB", func(b *testing.B) {
			b.SetBytes(int64(size))
			before := cpu(b)
			f(b, size)
			b.ReportMetric((cpu(b)-before)*1e6/float64(b.N), "cpu-us/op")
		})
	}
}

// cpu is what this process has used of the CPU, in seconds. On a busy machine it tells more than the
// time that has passed.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func BenchmarkMemcpy(b *testing.B) {
	each(b, func(b *testing.B, size int) {
		from, to := make([]byte, size), make([]byte, size)
		for b.Loop() {
			copy(to, from)
		}
	})
}

func BenchmarkCRC32C(b *testing.B) {
	table := crc32.MakeTable(crc32.Castagnoli)
	each(b, func(b *testing.B, size int) {
		p := make([]byte, size)
		for b.Loop() {
			crc32.Checksum(p, table)
		}
	})
}

func open(b *testing.B) *os.File {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// BenchmarkPwrite appends to a file in the page cache.
func BenchmarkPwrite(b *testing.B) {
	each(b, func(b *testing.B, size int) {
		f, p := open(b), make([]byte, size)
		var at int64
		for b.Loop() {
			if _, err := f.WriteAt(p, at); err != nil {
				b.Fatal(err)
			}
			if at += int64(size); at >= fileBytes {
				at = 0
				if err := f.Truncate(0); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkPwriteFiles appends 2 KiB to one of so many files in turn: what a file system takes for the number of files alone.
func BenchmarkPwriteFiles(b *testing.B) {
	for _, files := range []int{1, 10, 100, 1000, 10_000} {
		b.Run(strconv.Itoa(files), func(b *testing.B) {
			dir := b.TempDir()
			all := make([]*os.File, files)
			p := make([]byte, 2<<10)
			for i := range all {
				f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				if _, err := f.WriteAt(p, 0); err != nil {
					b.Fatal(err)
				}
				all[i] = f
			}
			syscall.Sync() // What making them left to do isn't part of it.
			n := 0
			before := cpu(b)
			for b.Loop() {
				if _, err := all[n%files].WriteAt(p, int64(1+n/files)*int64(len(p))); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric((cpu(b)-before)*1e6/float64(b.N), "cpu-us/op")
		})
	}
}

// drained is a loopback connection whose other end is read and dropped.
func drained(b *testing.B) *net.TCPConn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		p := make([]byte, 1<<20)
		for err == nil {
			_, err = c.Read(p)
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Close()
		l.Close()
		<-done
	})
	return c.(*net.TCPConn)
}

// BenchmarkLoopback sends from memory; the time has the receiver's part in it.
func BenchmarkLoopback(b *testing.B) {
	each(b, func(b *testing.B, size int) {
		c, p := drained(b), make([]byte, size)
		for b.Loop() {
			if _, err := c.Write(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSendfile sends from the page cache with sendfile(2), which ReadFrom uses for a file.
func BenchmarkSendfile(b *testing.B) {
	each(b, func(b *testing.B, size int) {
		c, f := drained(b), open(b)
		if _, err := f.Write(make([]byte, size)); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				b.Fatal(err)
			}
			if _, err := c.ReadFrom(&io.LimitedReader{R: f, N: int64(size)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRoundTrip is a byte there and back between two goroutines over loopback: two sends, two
// receives and two wake-ups.
func BenchmarkRoundTrip(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(struct{ io.Writer }{c}, c) // Ends with the connection.
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	p := []byte{1}
	before := cpu(b)
	for b.Loop() {
		if _, err := c.Write(p); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpu(b)-before)*1e6/float64(b.N), "cpu-us/op")
}
