package podcache

// Typical is for the benchmark, which is outside as podindex imports this package.
var Typical = typical
