"""Models to generate with: one that needs no hub, and whatever mlx-lm loads."""

from mlx_structured.models.loading import gguf_model_folder, load_model, smollm2_gguf

__all__ = ["gguf_model_folder", "load_model", "smollm2_gguf"]
