"""A checked kernel becomes Python closures over lane arrays: statements, expressions, intrinsics."""
