package sake

import "github.com/respawnd/respawnd/storage"

// RecordConfig is the part of section webservices of the configuration that is about SAKE records. The
// comment of each field explains its key.
type RecordConfig struct {
	// Size of a SAKE request, {range}.
	RequestSize int `key:"request_size" default:"1MiB" range:"1 to 16MiB"`
	// Fields of a SAKE record, {range}.
	FieldsPerRecord int `key:"fields_per_record" default:"200" range:"1 to 1000" live:"true"`
	// Size of a value in a SAKE record, {range}.
	ValueSize int `key:"value_size" default:"64KiB" range:"1 to 1MiB" live:"true"`
	// Size of a SAKE record, {range}.
	RecordSize int `key:"record_size" default:"1MiB" range:"1 to 4MiB" live:"true"`
	// SAKE records of a player in one table, {range}. A table in the games file may have
	// a limit of its own.
	RecordsPerOwner int `key:"records_per_owner" default:"100" range:"1 to 10000" live:"true"`
	// SAKE records of a player in all tables, {range}.
	PlayerRecords int `key:"player_records" default:"1000" range:"1 to 10000" live:"true"`
	// Size of all SAKE records of a player, {range}.
	PlayerRecordSize int `key:"player_record_size" default:"8MiB" range:"1 to 1GiB" live:"true"`
	// SAKE tables of a game, {range}.
	TablesPerGame int `key:"tables_per_game" default:"200" range:"1 to 100000" live:"true"`
	// SAKE records of a game, {range}.
	RecordsPerGame int `key:"records_per_game" default:"1000000" range:"1 to 100000000" live:"true"`
	// SAKE records of all games, {range}.
	MaxRecords int `key:"max_records" default:"2000000" range:"1 to 100000000" live:"true"`
	// Size of the SAKE records of all players, {range}.
	MaxRecordSpace int `key:"max_record_space" default:"4GiB" range:"1 to 1024GiB" live:"true"`
	// SAKE records that one search looks at, {range}. A search that would look at more
	// is refused.
	ScanRecords int `key:"scan_records" default:"200000" range:"1 to 10000000" live:"true"`
	// SAKE requests of one player per minute, from all addresses, {range}. Further ones are
	// refused, as if the database were unavailable. 0: no bound.
	PlayerRequests int `key:"player_requests" default:"3000" range:"0 to 1000000" live:"true"`
	// SAKE requests of one player per minute that change records, {range}. 0: no bound.
	PlayerWrites int `key:"player_writes" default:"1500" range:"0 to 1000000" live:"true"`
}

// limits returns the limits of a record. perOwner is that of its table; 0: the general
// one.
func (c *RecordConfig) limits(perOwner int) storage.SakeLimits {
	if perOwner == 0 {
		perOwner = c.RecordsPerOwner
	}
	return storage.SakeLimits{
		Fields: c.FieldsPerRecord, RecordSize: c.RecordSize, PerOwner: perOwner, OwnerTotal: c.PlayerRecords,
		OwnerBytes: int64(c.PlayerRecordSize), Tables: c.TablesPerGame, PerGame: c.RecordsPerGame, Total: c.MaxRecords,
		TotalBytes: int64(c.MaxRecordSpace),
	}
}
