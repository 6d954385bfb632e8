package cluster

import "encoding/json"

// JSON returns a Codec for entries that change rarely. Their types must be equal after they were
// encoded and decoded.
func JSON[K comparable, V any](version byte) Codec[K, V] {
	add := func(b []byte, v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // a mistake in the type
		}
		return append(b, data...)
	}
	return Codec[K, V]{
		Version:     version,
		AppendKey:   func(b []byte, k K) []byte { return add(b, k) },
		AppendValue: func(b []byte, v V) []byte { return add(b, v) },
		ParseKey: func(b []byte) (k K, err error) {
			err = json.Unmarshal(b, &k)
			return k, err
		},
		ParseValue: func(_ string, _ K, b []byte) (v V, err error) {
			err = json.Unmarshal(b, &v)
			return v, err
		},
	}
}
