package zandronum

import (
	"encoding/json"
	"os"
	"testing"
)

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type huffmanVectors struct {
	Encode []struct {
		Name, Plain, Encoded string
	}
	Decode []struct {
		Name, Input, Decoded string
	}
	Capacity []struct {
		Name, Input, Decoded string
		Capacity             int `json:"output_capacity"`
	}
}

func huffmanCases(t testing.TB) (v huffmanVectors) {
	t.Helper()
	readJSON(t, "testdata/huffman.json", &v)
	if len(v.Encode) == 0 || len(v.Decode) == 0 || len(v.Capacity) == 0 {
		t.Fatal("testdata/huffman.json is empty")
	}
	return v
}
