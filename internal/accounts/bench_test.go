package accounts

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkCheckProof is a login without the network: two reads of the store,
// one seal, two digests.
func BenchmarkCheckProof(b *testing.B) {
	s := open(b, Options{})
	const accounts = 1000
	byUniqueNick, byUser := make([]Proof, accounts), make([]Proof, accounts)
	for i := range accounts {
		r := alice()
		r.Email, r.UniqueNick = fmt.Sprintf("player%d@example.com", i), fmt.Sprint("Player", i)
		register(b, s, r)
		byUniqueNick[i] = byNick(r.UniqueNick, r.Password)
		byUser[i] = prove(Proof{User: "Alice@" + r.Email, Namespace: 1}, r.Password)
	}
	for name, proofs := range map[string][]Proof{"uniquenick": byUniqueNick, "user": byUser} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var n atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := s.SignIn.CheckProof(b.Context(), proofs[n.Add(1)%accounts]); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkRespond(b *testing.B) {
	secret := secretOf("rosebud")
	b.ReportAllocs()
	for b.Loop() {
		respond(secret, "Player1", "clientclientclientclientclientcl", "QWERTYUIOP")
	}
}
