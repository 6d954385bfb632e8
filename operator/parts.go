package operator

import "encoding/json"

// MaxImport is the size of one request of an import, in bytes of JSON. A single record may be larger.
const MaxImport = 4 << 20

// maxRecords is the maximum number of records in one request of an import.
const maxRecords = min(MaxAccountPage, MaxStatsImport)

// InParts calls f for parts of a list that fit into a request of an import, of up to limit bytes.
func InParts[T any](list []T, limit int, f func([]T) error) error {
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && n < maxRecords {
			b, err := json.Marshal(list[n])
			if err != nil {
				return err
			}
			if size += len(b); n > 0 && size > limit {
				break
			}
			n++
		}
		if err := f(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}
