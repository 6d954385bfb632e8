package records

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// The value of a record in the file:
//
//	offset size
//	     0    1  version of this layout: 2, or 3 if the payload is not JSON
//	     1    4  CRC-32C of the payload, big-endian
//	     5    4  CRC-32C of the key, big-endian
//	     9    -  payload: version 2: the JSON of one record; blocks and reports have
//	             forms of their own; version 3: its fields, see fields.go
//
// The checksum of the key detects a record under a damaged key, which a reader
// would silently miss.
//
// Users and profiles are written in version 3. Those that schema 6 wrote in version 2
// stay so until they change.
//
// A chunk of a server list is of version 1, without the checksum of the key. Its
// payload are records, each as its length (unsigned varint) and its JSON.
const (
	chunkVersion = 1
	valueHeader  = 5 // of a chunk, and before the checksum of the key

	recordVersion = 2
	fieldsVersion = 3
	recordHeader  = valueHeader + crc32.Size // of both
)

// sealInPlace completes a value whose first valueHeader bytes are still free.
func sealInPlace(value []byte) []byte {
	value[0] = chunkVersion
	binary.BigEndian.PutUint32(value[1:valueHeader], engine.Checksum(value[valueHeader:]))
	return value
}

// unseal returns the payload of the value under a key. It shares the memory of value.
func unseal(key, value []byte) ([]byte, error) {
	if err := checkKey(key, value); err != nil {
		return nil, err
	}
	header := valueHeader
	if len(value) > 0 && (value[0] == recordVersion || value[0] == fieldsVersion) {
		header = recordHeader
	}
	if len(value) < header {
		return nil, fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(value))
	}
	if value[0] != chunkVersion && header != recordHeader {
		return nil, fmt.Errorf("%w: value version %d", storage.ErrDamaged, value[0])
	}
	payload := value[header:]
	if binary.BigEndian.Uint32(value[1:]) != engine.Checksum(payload) {
		return nil, fmt.Errorf("%w: checksum differs", storage.ErrDamaged)
	}
	return payload, nil
}

// checkKey returns an error for a record under another key than it was stored
// under. It does not check the payload.
func checkKey(key, value []byte) error {
	if len(value) >= recordHeader && (value[0] == recordVersion || value[0] == fieldsVersion) &&
		binary.BigEndian.Uint32(value[valueHeader:]) != engine.Checksum(key) {
		return fmt.Errorf("%w: stored under another key", storage.ErrDamaged)
	}
	return nil
}

// encode returns the value of one record under a key.
func encode(key []byte, record any) ([]byte, error) {
	if payload, ok := appendFields(record); ok {
		value := sealRecord(key, payload, nil)
		value[0] = fieldsVersion
		return value, nil
	}
	payload, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	return sealRecord(key, payload, nil), nil
}

// sealRecord returns the value of a record whose payload has two parts.
func sealRecord(key, head, data []byte) []byte {
	value := make([]byte, 0, recordHeader+len(head)+len(data))
	value = append(value, recordVersion)
	value = binary.BigEndian.AppendUint32(value, engine.Checksum(head, data))
	value = binary.BigEndian.AppendUint32(value, engine.Checksum(key))
	return append(append(value, head...), data...)
}

// decode returns the record of the value under a key. It shares no memory with value.
func decode[R any](key, value []byte) (record R, err error) {
	err = decodeInto(key, value, &record)
	return record, err
}

// decodeInto is decode without copies of a large record. After an error the
// record is zero.
func decodeInto[R any](key, value []byte, record *R) error {
	payload, err := unseal(key, value)
	if err != nil {
		*record = *new(R)
		return err
	}
	if value[0] == fieldsVersion {
		*record = *new(R)
		return decodeFields(payload, record)
	}
	return decodeJSONInto(payload, record)
}

// decodeJSON returns the record of a payload, or the zero record and an error.
func decodeJSON[R any](payload []byte) (record R, err error) {
	err = decodeJSONInto(payload, &record)
	return record, err
}

// decodeJSONInto is decodeJSON without copies of the record.
func decodeJSONInto[R any](payload []byte, record *R) error {
	*record = *new(R)
	var err error
	if own, ok := any(record).(json.Unmarshaler); ok {
		err = own.UnmarshalJSON(payload) // it checks the payload: json.Unmarshal would read it twice more
	} else {
		err = json.Unmarshal(payload, record)
	}
	if err != nil {
		*record = *new(R)
		return fmt.Errorf("%w: %w", storage.ErrDamaged, err)
	}
	return nil
}

// appendToChunk appends the JSON of one record to a chunk.
func appendToChunk(chunk, record []byte) []byte {
	chunk = binary.AppendUvarint(chunk, uint64(len(record)))
	return append(chunk, record...)
}

// chunkRecords yields the JSON of every record in a chunk's payload. The slices
// share its memory. An error is the last item.
func chunkRecords(payload []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for len(payload) > 0 {
			size, n := binary.Uvarint(payload)
			if n <= 0 || size > uint64(len(payload)-n) {
				yield(nil, fmt.Errorf("%w: record length", storage.ErrDamaged))
				return
			}
			end := n + int(size)
			if !yield(payload[n:end:end], nil) {
				return
			}
			payload = payload[end:]
		}
	}
}
