package ssl3

import (
	"crypto/rand"
	"math/big"
	"sync"
	"testing"
	"time"
)

// madeOnce is the identity of all tests: making one takes a while.
var madeOnce = sync.OnceValues(func() (*Identity, error) {
	return NewIdentity(rand.Reader, "*.auth.pubsvs.gamespy.com", time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC))
})

func testIdentity(t testing.TB) *Identity {
	t.Helper()
	id, err := madeOnce()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func bigInt(b []byte) *big.Int { return new(big.Int).SetBytes(b) }
