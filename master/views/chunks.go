package views

import "sync"

// ChunkSize is the number of bytes of a list that are encoded and written at a
// time. A connection never buffers more of a list than this.
const ChunkSize = 32 << 10

// Chunks is a pool of buffers in which connections encode lists. The zero value
// is ready. All methods may be called concurrently.
type Chunks struct{ pool sync.Pool }

// Get returns a buffer with arbitrary content, to be returned with Put.
func (c *Chunks) Get() *[ChunkSize]byte {
	if b, ok := c.pool.Get().(*[ChunkSize]byte); ok {
		return b
	}
	return new([ChunkSize]byte)
}

// Put returns a buffer, which the caller must not use afterwards.
func (c *Chunks) Put(b *[ChunkSize]byte) { c.pool.Put(b) }
