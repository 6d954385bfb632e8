package records

// version is the number of the layout. Schemas 1 to 7 were those of storage/bolt.
const version = 9
