package gstats

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"sync"
)

// sessionKeys hands out the session keys of connections, at random and each once at a
// time. The zero value has none in use.
type sessionKeys struct {
	draw func() uint64 // never changed once the server serves; nil: random

	mu   sync.Mutex // guards used
	used map[int32]struct{}
}

// take returns a key above 0.
func (k *sessionKeys) take() int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used == nil {
		k.used = make(map[int32]struct{})
	}
	draw := k.draw
	if draw == nil {
		draw = random
	}
	for {
		key := int32(draw() & math.MaxInt32)
		if _, taken := k.used[key]; key != 0 && !taken {
			k.used[key] = struct{}{}
			return key
		}
	}
}

// give returns a key.
func (k *sessionKeys) give(key int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.used, key)
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
