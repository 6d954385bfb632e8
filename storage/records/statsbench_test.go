package records

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// benchBlocks returns a store with profiles that have n blocks each.
func benchBlocks(b *testing.B, profiles, n, size int) *Store {
	b.Helper()
	s := openNew(b)
	data := make([]byte, size)
	for i := range profiles {
		_, p, err := s.CreateUser(b.Context(), storage.User{Email: fmt.Sprintf("%d@example.com", i)}, storage.Profile{Nick: "Nick"})
		if err != nil {
			b.Fatal(err)
		}
		blocks := make([]storage.StatBlock, n)
		for j := range blocks {
			blocks[j] = storage.StatBlock{StatBlockID: benchBlock(p.ID, j), Data: data, Modified: time.Now()}
		}
		if err := s.ImportStats(b.Context(), p.ID, blocks, nil); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func benchBlock(p storage.ProfileID, index int) storage.StatBlockID {
	return storage.StatBlockID{Game: "gmtest", Profile: p, Kind: storage.StatPublicWrite, Index: int32(index)}
}

func setBench(s *Store, id storage.StatBlockID, data []byte) error {
	_, err := s.EditStatBlock(context.Background(), id, storage.MaxStatBytes, time.Now(), func([]byte) ([]byte, error) { return data, nil })
	return err
}

// BenchmarkManyBlocks compares the 1,000 blocks of a player with those of 1,000
// players with 1 block each, in the same store.
func BenchmarkManyBlocks(b *testing.B) {
	const n = 1000
	s := benchBlocks(b, n+1, 1, 256)
	data := make([]byte, 256)
	for i := range n {
		if err := setBench(s, benchBlock(1, i), data); err != nil {
			b.Fatal(err)
		}
	}
	for stored, id := range map[int]func(i int) storage.StatBlockID{
		1: func(i int) storage.StatBlockID { return benchBlock(storage.ProfileID(i%n+2), 0) },
		n: func(i int) storage.StatBlockID { return benchBlock(1, i%n) },
	} {
		for name, f := range map[string]func(i int) error{
			"get": func(i int) error { _, err := s.GetStatBlock(context.Background(), id(i)); return err },
			"set": func(i int) error { return setBench(s, id(i), data) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, stored), func(b *testing.B) {
				i := 0
				for b.Loop() {
					if err := f(i); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}

// BenchmarkRanking reads pages and ranks of a board with 10,000 players.
func BenchmarkRanking(b *testing.B) {
	const n = 10_000
	s := benchBlocks(b, n, 0, 0)
	score := func(i int) storage.ScoreID {
		return storage.ScoreID{Game: "gmtest", Board: "kills", Profile: storage.ProfileID(i%n + 1)}
	}
	for i := range n {
		if err := s.PutScore(b.Context(), storage.Score{ScoreID: score(i), Value: float64(i * 7919 % n)}); err != nil {
			b.Fatal(err)
		}
	}
	for name, f := range map[string]func(i int) error{
		"rank":  func(i int) error { _, err := s.RankOf(b.Context(), score(i)); return err },
		"first": func(int) error { _, err := s.Ranking(b.Context(), "gmtest", "kills", 0, 50); return err },
		"last":  func(int) error { _, err := s.Ranking(b.Context(), "gmtest", "kills", n-50, 50); return err },
		"put": func(i int) error {
			return s.PutScore(b.Context(), storage.Score{ScoreID: score(i), Value: float64(i * 31 % n)})
		},
	} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				if err := f(i); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
