package views

import "sync"

// ChunkSize is how much of a list is encoded and written at a time, in bytes. A
// connection never holds more of a list than this.
const ChunkSize = 32 << 10

// Chunks hands out the buffers in which connections encode lists. The zero value
// is ready. All methods may be called concurrently.
type Chunks struct{ pool sync.Pool }

// Get returns a buffer of any content, which Put takes back.
func (c *Chunks) Get() *[ChunkSize]byte {
	if b, ok := c.pool.Get().(*[ChunkSize]byte); ok {
		return b
	}
	return new([ChunkSize]byte)
}

// Put takes a buffer back, which the caller must not use any more.
func (c *Chunks) Put(b *[ChunkSize]byte) { c.pool.Put(b) }
