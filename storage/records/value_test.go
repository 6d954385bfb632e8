package records

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
)

func TestUnsealRefusesDamage(t *testing.T) {
	good := wrap([]byte(`{"name":"a"}`))
	tests := map[string][]byte{
		"nothing":         nil,
		"half a header":   good[:4],
		"another version": append([]byte{3}, good[1:]...),
		"a changed byte":  append(bytes.Clone(good[:len(good)-1]), ' '),
		"a missing byte":  good[:len(good)-1],
		"bare JSON":       []byte(`{"name":"a"}`),
	}
	for name, value := range tests {
		if payload, err := unseal([]byte("key"), value); !isDamage(err) {
			t.Errorf("%s: unseal() = %q, %v, want ErrDamaged", name, payload, err)
		}
	}
	if payload, err := unseal([]byte("key"), good); err != nil || string(payload) != `{"name":"a"}` {
		t.Errorf("unseal() = %q, %v", payload, err)
	}
	if g, err := decode[storage.Game]([]byte("key"), wrap([]byte(`{"name":"a","rev":-1}`))); !isDamage(err) || g.Name != "" {
		t.Errorf("decode() of a wrong type = %+v, %v, want the zero Game and ErrDamaged", g, err)
	}
}

func FuzzDecodeValue(f *testing.F) {
	f.Add(wrap([]byte(`{"name":"a","doc":"AAEC","changed":"2026-11-20T00:00:00Z","rev":3}`)))
	f.Add(wrap([]byte(`{"prefix":"192.0.2.0/24","scope":"lists"}`)))
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Add([]byte(`{"id":1,"user":1,"nick":"J\u00f6rg","public_mask":7,"rev":1,"raw":true}`))
	f.Add([]byte(`{"id":1,"user":1,"nick":"\u0100","raw":true}`))
	f.Add([]byte(`{"id":1,"email":"a@b.c","secret":"AAEC","ban":{"added":"2026-11-20T00:00:00Z"},"rev":1}`))
	f.Add([]byte(`{"messages":[{"from":1,"kind":1,"text":"\u00ff","sent":"2026-11-20T00:00:00Z","raw":true}]}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		checkDecode[storage.User](t, wrap(value))
		checkDecode[storage.Profile](t, wrap(value))
		checkDecode[storage.Request](t, wrap(value))
		checkDecode[mailbox](t, wrap(value))
		checkDecode[storage.Game](t, value)
		checkDecode[storage.Room](t, value)
		checkDecode[storage.Ban](t, value)
		// The checksum keeps a fuzzer out, so hand it the key.
		checkDecode[storage.Game](t, wrap(value))
		checkDecode[storage.Room](t, wrap(value))
		checkDecode[storage.Ban](t, wrap(value))
	})
}

// checkDecode checks that a value that can be decoded and encoded again stays the same.
func checkDecode[R any](t *testing.T, value []byte) {
	t.Helper()
	record, err := decode[R]([]byte("key"), value)
	if err != nil {
		if !isDamage(err) {
			t.Errorf("decode(%q) = %v, want ErrDamaged", value, err)
		}
		return
	}
	again, err := encode([]byte("key"), record)
	if err != nil {
		return // such as a scope that no ban has
	}
	second, err := decode[R]([]byte("key"), again)
	if err != nil {
		t.Fatalf("decode(encode(%+v)) = %v", record, err)
	}
	if again[0] == fieldsVersion { // its times are in UTC, those of the JSON perhaps not
		third, err := encode([]byte("key"), second)
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("encode(decode(%q)) = %q, %v", again, third, err)
		}
		return
	}
	a, errA := json.Marshal(record)
	b, errB := json.Marshal(second)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("decode(encode(x)) = %s, want %s", b, a)
	}
}

func FuzzChunkRecords(f *testing.F) {
	f.Add(appendToChunk(appendToChunk(nil, []byte(`{"game":"a"}`)), []byte(`{}`)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'})
	f.Add([]byte{5, 'a'})
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var got [][]byte
		var again []byte
		whole := true
		for record, err := range chunkRecords(payload) {
			if err != nil {
				whole = false
				continue
			}
			got = append(got, record)
			again = appendToChunk(again, record)
			if _, err := decodeJSON[storage.Server](record); err != nil && !isDamage(err) {
				t.Errorf("decodeJSON(%q) = %v, want ErrDamaged", record, err)
			}
		}
		var second [][]byte
		for record, err := range chunkRecords(again) {
			if err != nil {
				t.Fatalf("chunkRecords() of what appendToChunk made: %v", err)
			}
			second = append(second, record)
		}
		if diff := cmp.Diff(got, second); whole && diff != "" {
			t.Errorf("records differ (-first +second):\n%s", diff)
		}
	})
}

// wrap returns the chunk with a payload.
func wrap(payload []byte) []byte {
	value := make([]byte, valueHeader, valueHeader+len(payload))
	return sealInPlace(append(value, payload...))
}
