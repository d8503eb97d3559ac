"""Makes every token that mlx-lm generates fit a JSON Schema."""
